// Schema writes the JSON Schema of the scenario file to the file that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schema FILE")
		os.Exit(2)
	}
	text, err := scenariofile.Schema()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

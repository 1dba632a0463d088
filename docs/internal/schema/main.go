// Schema writes the JSON Schema of the scenario file to the file that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schema FILE")
		os.Exit(2)
	}
	text, err := scenariofile.Schema()
	if err == nil {
		err = disk.Replace(os.Args[1], disk.Public, disk.Text(text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Command requirements writes docs/requirements.md: every requirement, its status,
// and the tests that cite it. The requirements are the rows of docs/requirements.csv.
// A test cites a row by its ID in a comment above or inside the test function.
//
// Run it from the module's root. With -check it writes nothing and fails if the page
// is stale.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rackfab/rackfab/disk"
)

const pageFile = "docs/requirements.md"

func main() {
	check := flag.Bool("check", false, "fail if "+pageFile+" is stale, write nothing")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "requirements:", err)
		os.Exit(1)
	}
}

var errStale = errors.New(pageFile + " is stale: run `make generate` and commit it")

// run writes the page of the module at root. If check is set, it compares the page
// instead.
func run(root string, check bool) error {
	rows, err := readRows(filepath.Join(root, rowsFile))
	if err != nil {
		return err
	}
	cited, err := scan(root, newCiter(rows))
	if err != nil {
		return err
	}
	if err := prove(rows, cited); err != nil {
		return err
	}
	page := render(rows, cited)
	file := filepath.Join(root, pageFile)
	if !check {
		return disk.Replace(file, disk.Public, disk.Text(page))
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, page) {
		return errStale
	}
	return nil
}

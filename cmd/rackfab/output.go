package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// standardOutput is the file name that denotes standard output.
const standardOutput = "-"

// createOutput calls write with the named file, or with standard output.
func createOutput(c *cobra.Command, name string, write func(io.Writer) error) error {
	if name == standardOutput {
		return write(c.OutOrStdout())
	}
	return createFile(name, write)
}

// createFile creates a file and calls write with it.
func createFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error counts
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			return err // the error names the file
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

// notes returns the writer for messages about a file: standard error if the file itself
// goes to standard output.
func notes(c *cobra.Command, name string) io.Writer {
	if name == standardOutput {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// severalFiles returns an error if a flag that takes a folder names standard output.
func severalFiles(flag, name string) error {
	if name == standardOutput {
		return fmt.Errorf("%s -: want a folder: what is written are several files", flag)
	}
	return nil
}

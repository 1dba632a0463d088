package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// standardOutput is the name of a file to write that stands for standard output.
const standardOutput = "-"

// createOutput writes by write the file with that name, or standard output.
func createOutput(c *cobra.Command, name string, write func(io.Writer) error) error {
	if name == standardOutput {
		return write(c.OutOrStdout())
	}
	return createFile(name, write)
}

// createFile writes a file by write.
func createFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first fault counts
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			return err // it names the file
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

// notes is where a command says what it has written to a file: not among the bytes
// of one that goes to standard output.
func notes(c *cobra.Command, name string) io.Writer {
	if name == standardOutput {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// severalFiles is the error of a flag that takes a folder and got standard output,
// nil if it got another name.
func severalFiles(flag, name string) error {
	if name == standardOutput {
		return fmt.Errorf("%s -: want a folder: what is written are several files", flag)
	}
	return nil
}

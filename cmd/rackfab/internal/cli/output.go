package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Stdout is the file name that denotes standard output.
const Stdout = "-"

// CreateOutput calls write with the named file, or with standard output.
func CreateOutput(c *cobra.Command, name string, write func(io.Writer) error) error {
	if name == Stdout {
		return write(c.OutOrStdout())
	}
	return CreateFile(name, write)
}

// CreateFile creates a file and calls write with it.
func CreateFile(path string, write func(io.Writer) error) error {
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

// Messages returns the writer for messages about a file: standard error if the file itself
// goes to standard output.
func Messages(c *cobra.Command, name string) io.Writer {
	if name == Stdout {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// WantFolder returns an error if a flag that takes a folder names standard output.
func WantFolder(flag, name string) error {
	if name == Stdout {
		return fmt.Errorf("%s -: must be a folder: the command writes several files", flag)
	}
	return nil
}

// PrintJSON writes a message as JSON.
func PrintJSON(w io.Writer, m proto.Message) error {
	text, err := protojson.MarshalOptions{Multiline: true, EmitUnpopulated: true, UseProtoNames: true}.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintln(w, string(text))
	}
	return err
}

// WriteJSON writes v as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // link names contain ->: x->y
	e.SetIndent("", "  ")
	return e.Encode(v)
}

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

	"github.com/rackfab/rackfab/disk"
)

// Stdout is the file name that denotes standard output.
const Stdout = "-"

// Output is the file that a command writes, or standard output.
type Output struct {
	Name      string
	Overwrite bool
}

// AddFlags adds the flags of the name, which is empty for a required one, and of --overwrite.
func (o *Output) AddFlags(c *cobra.Command, name, usage string) {
	c.Flags().StringVarP(&o.Name, "output", "o", name, usage+", - for standard output")
	OverwriteFlag(c, &o.Overwrite)
	if name == "" {
		_ = c.MarkFlagRequired("output") // the flag exists
	}
}

// FolderFlag adds the flag --output of a command that writes several files.
func FolderFlag(c *cobra.Command, folder *string, name, usage string) {
	c.Flags().StringVarP(folder, "output", "o", name, usage)
	_ = c.MarkFlagDirname("output") // the flag exists
}

// OverwriteFlag adds the flag --overwrite.
func OverwriteFlag(c *cobra.Command, overwrite *bool) {
	c.Flags().BoolVar(overwrite, "overwrite", false, "replace what is there already")
}

// Check returns an error if the file has content that the user does not want to overwrite.
func (o *Output) Check() error {
	if o.Overwrite || o.Name == Stdout {
		return nil
	}
	return Unwritten(o.Name, advice)
}

// Write calls write with the file, or with standard output.
func (o *Output) Write(c *cobra.Command, write func(io.Writer) error) error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.Name == Stdout {
		return write(c.OutOrStdout())
	}
	if o.Overwrite {
		return disk.Replace(o.Name, disk.Public, write)
	}
	return NewFile(o.Name, advice, write)
}

// advice is the end of the error of Output for a file with content.
const advice = "choose another name, or --overwrite"

// NewFile creates a file and calls write with it. A file with content is not overwritten: the error
// ends with advice.
func NewFile(path, advice string, write func(io.Writer) error) error {
	if err := Unwritten(path, advice); err != nil {
		return err
	}
	err := disk.New(path, disk.Public, write)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", err, advice) // another process has written it
	}
	return err
}

// Unwritten returns an error if path is a file with content. The error ends with advice. An empty file,
// a pipe and a terminal can be written to.
func Unwritten(path, advice string) error {
	if is, err := os.Stat(path); err == nil && is.Mode().IsRegular() && is.Size() > 0 {
		return fmt.Errorf("%s: %w: %s", path, fs.ErrExist, advice)
	}
	return nil
}

// Digits is the number of significant digits of times, sizes and rates that are printed for people.
const Digits = 4

// Round rounds a time, a size or a rate to some significant digits, so that it prints short:
// 1.576ms instead of 1.5756184ms.
func Round[V ~int64](v V, digits int) V {
	if v < 0 {
		return -Round(-v, digits)
	}
	limit, step := V(1), V(1)
	for range digits {
		limit *= 10
	}
	for v/step >= limit {
		step *= 10
	}
	return (v + step/2) / step * step
}

// Messages returns the writer for messages about a file: standard error if the file itself
// goes to standard output.
func Messages(c *cobra.Command, name string) io.Writer {
	if name == Stdout {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// WantFolder returns an error if the name of --output, which takes a folder, is that of standard output.
func WantFolder(name string) error {
	if name == Stdout {
		return errors.New("--output -: must be a folder: the command writes several files")
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

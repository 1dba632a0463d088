// Package cli holds what all commands share: output files, progress, values of flags, exit
// status and version. It knows no rack.
package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackfab/rackfab/fabric/unit"
)

// value is the value of a flag that a function parses. It keeps the error of an invalid
// text, so that Faults can report the invalid values of all flags at once.
type value struct {
	text, kind string
	parse      func(text string) error
	err        error
}

// String returns the text of the value.
func (v *value) String() string { return v.text }

// Set parses text.
func (v *value) Set(text string) error {
	v.text, v.err = text, v.parse(text)
	return nil
}

// Type returns the kind of the value for help texts.
func (v *value) Type() string { return v.kind }

// Var adds a flag whose value parse stores. kind names the value in the help text. An
// empty text means that the flag has no default.
func Var(c *cobra.Command, name, kind, text, usage string, parse func(text string) error) {
	v := &value{kind: kind, parse: parse}
	if text != "" {
		_ = v.Set(text) // Faults reports the error
	}
	c.Flags().Var(v, name, usage)
}

// Faults returns the invalid values of all flags of a command as one error: those that a function
// refuses, empty texts, and flags that exclude each other. The processes of a rack take an empty text for none.
func Faults(c *cobra.Command) error {
	var faults []error
	process := c.Flags().Lookup("listen") != nil
	c.Flags().VisitAll(func(f *pflag.Flag) {
		v, parsed := f.Value.(*value)
		switch {
		case parsed && v.err != nil:
			faults = append(faults, fmt.Errorf("--%s: %w", f.Name, v.err))
		case parsed || process || slices.Contains(switchedOff, f.Name):
		case f.Changed && (f.Value.String() == "" || f.Value.String() == "[]"):
			faults = append(faults, fmt.Errorf("--%s: must not be empty: leave the flag out for its default", f.Name))
		}
	})
	return errors.Join(append(faults, exclusive(c)...)...)
}

// exclusiveFlags is the annotation of flags by which cobra's MarkFlagsMutuallyExclusive marks their
// groups.
const exclusiveFlags = "cobra_annotation_mutually_exclusive"

// exclusive returns an error for each group of flags that exclude each other, of which the command
// line has several.
func exclusive(c *cobra.Command) (faults []error) {
	var groups []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		for _, g := range f.Annotations[exclusiveFlags] {
			if !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	})
	var said []string // of the groups so far, which may share flags
	for _, g := range groups {
		names := slices.DeleteFunc(strings.Fields(g), func(name string) bool { return !c.Flags().Changed(name) })
		if list := strings.Join(names, " and --"); len(names) > 1 && !slices.Contains(said, list) {
			said, faults = append(said, list), append(faults, fmt.Errorf("--%s cannot be used together", list))
		}
	}
	return faults
}

// switchedOff lists the flags that an empty text switches off, whatever the environment says.
var switchedOff = []string{"http", "tls"}

// Unused returns an error if the command line has any of the flags, which have no effect because of
// its other arguments. why completes "--flag: ".
func Unused(c *cobra.Command, why string, flags ...string) error {
	var faults []error
	for _, name := range flags {
		if c.Flags().Changed(name) {
			faults = append(faults, fmt.Errorf("--%s: %s", name, why))
		}
	}
	return errors.Join(faults...)
}

// Distinct returns an error if a value of a flag is repeated.
func Distinct(flag string, values []string) error {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Errorf("--%s: %s is repeated", flag, v)
		}
	}
	return nil
}

// TimeFlag adds a flag with an instant or a span of fabric time.
func TimeFlag[T ~int64](c *cobra.Command, to *T, name, text, usage string) {
	Var(c, name, "time", text, usage, func(text string) error {
		t, err := unit.ParseTime(text)
		*to = T(t)
		return err
	})
}

// BytesFlag adds a flag with a size.
func BytesFlag[T ~int64](c *cobra.Command, to *T, name, text, usage string) {
	Var(c, name, "size", text, usage, func(text string) error {
		n, err := unit.ParseBytes(text)
		*to = T(n)
		return err
	})
}

// CountFlag adds a flag with a number of at least 1, the default.
func CountFlag(c *cobra.Command, to *int32, name, usage string) {
	Var(c, name, "number", "1", usage, func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if *to = int32(n); err != nil || n < 1 {
			return fmt.Errorf("invalid number %q: must be 1 or more", text)
		}
		return nil
	})
}

// ShareFlag adds a flag with a share, as a percentage or a number from 0 to 1.
func ShareFlag(c *cobra.Command, to *float64, name, text, usage string) {
	Var(c, name, "share", text, usage, func(text string) (err error) {
		*to, err = parseShare(text)
		return err
	})
}

// parseShare parses a share such as "5%" or "0.05".
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) { // rejects NaN too
		return 0, fmt.Errorf("invalid share %q: must be 0%% to 100%% or 0 to 1", text)
	}
	return share, nil
}

// ChoiceFlag adds a flag that takes one of some words and completes them. The first word
// is the default.
func ChoiceFlag(c *cobra.Command, to *string, name, usage string, words ...string) {
	Var(c, name, "string", words[0], usage, func(text string) error {
		if *to = text; !slices.Contains(words, text) {
			return fmt.Errorf("invalid value %q: must be %s", text, alternatives(words))
		}
		return nil
	})
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// FormatFlag adds the flag of the output format.
func FormatFlag(c *cobra.Command, to *string, formats ...string) {
	ChoiceFlag(c, to, "format", "output format: "+alternatives(formats), formats...)
}

// alternatives returns "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

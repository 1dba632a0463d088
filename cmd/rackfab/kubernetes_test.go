package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/compose"
)

// commandLines returns the command lines of the containers of rackfab in manifests, by the
// kind and name of the object and the name of the container.
func commandLines(t *testing.T, text string) map[string][]string {
	t.Helper()
	lines := map[string][]string{}
	type container struct {
		Name, Image string
		Args        []string
	}
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var m struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Spec struct {
						Containers     []container
						InitContainers []container `yaml:"initContainers"`
					}
				}
			}
		}
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(m.Spec.Template.Spec.Containers, m.Spec.Template.Spec.InitContainers...) {
			if c.Image == compose.Image {
				lines[m.Kind+" "+m.Metadata.Name+" "+c.Name] = c.Args
			}
		}
	}
}

// Every printed command line is one of this program: its command, its flags and their
// values, and the number of its arguments.
func TestKubernetesCommandLinesParse(t *testing.T) {
	for line, launcher := range map[string]string{
		"kubernetes --workers 20":                                  "Job run run",
		"kubernetes star-2 --workers 2 -- --scheme pfc,pcn --json": "Job run run",
		"kubernetes star-2 --live -- --pace 2ms/s":                 "Deployment controller controller",
	} {
		lines := commandLines(t, say(t, strings.Fields(line)...))
		if len(lines[launcher]) == 0 || len(lines) != 5 {
			t.Errorf("%s: %q", line, lines)
		}
		for container, args := range lines {
			c, rest, err := root().Find(args)
			if err == nil {
				err = errors.Join(c.ParseFlags(rest), cli.Faults(c))
			}
			if err == nil {
				err = checkArgs(c)
			}
			if err != nil {
				t.Errorf("%s: %s: %q: %v", line, container, args, err)
			}
		}
	}
}

// checkArgs applies the command's own check of its arguments and required flags.
func checkArgs(c *cobra.Command) error {
	if c.Args == nil {
		return nil
	}
	return c.Args(c, c.Flags().Args())
}

func TestKubernetesRefusesOtherFlags(t *testing.T) {
	for line, want := range map[string]string{
		"kubernetes -- --pace 1ms/s":        "flags of rackfab run: unknown flag: --pace",
		"kubernetes -- star-2":              `flags of rackfab run: ["star-2"] is not a flag`,
		"kubernetes a b":                    "accepts at most 1 arg(s), received 2",
		"kubernetes --live -- --paused=why": "flags of rackfab up: invalid argument",
		"kubernetes incast-2000":            `invalid scenario name "incast-2000": must be incast-N, each number from 1 to 1023`,
		"kubernetes sharing-8":              `must be sharing-N-M, each number from 1 to 64`,
		"kubernetes nowhere.yaml":           "is not built in, want one of pcn-16to2",
		"kubernetes -- --processes 2":       "flags of rackfab run: --processes and --workers cannot be used together",
		"kubernetes --workers 0":            "--workers 0: must be 1 to 20, the nodes of pcn-16to2",
	} {
		c := root()
		c.SetArgs(strings.Fields(line))
		c.SetOut(io.Discard)
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

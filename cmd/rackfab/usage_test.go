package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackfab/rackfab/fabric/cc"
)

// Every command is in exactly one group of the help, and every group lists only
// existing commands.
func TestEveryCommandHasAGroup(t *testing.T) {
	c := root()
	var grouped, there []string
	for _, g := range groups {
		grouped = append(grouped, g.commands...)
	}
	for _, below := range c.Commands() {
		there = append(there, below.Name())
	}
	slices.Sort(grouped)
	slices.Sort(there)
	if !slices.Equal(grouped, there) {
		t.Errorf("commands in groups: %q\nall commands: %q", grouped, there)
	}
}

// Every command has an example that begins with its own name, and its flags have the name of
// a value, not words that the usage quotes.
func TestEveryCommandHasAnExample(t *testing.T) {
	everyCommand(func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); strings.Contains(value, " ") {
				t.Errorf("%s --%s: value %q", c.CommandPath(), f.Name, value)
			}
		})
		if !strings.HasPrefix(c.Example, "  "+c.CommandPath()) {
			t.Errorf("%s: example %q", c.CommandPath(), c.Example)
		}
	})
}

// A usage error states the correct usage.
func TestUsageErrorsPrintTheUsage(t *testing.T) {
	for line, want := range map[string]string{
		"set":                               "usage: rackfab set NODE.KEY|LINK.KEY VALUE",
		"run a b":                           "usage: rackfab run [SCENARIO|FILE]",
		"burst --from h0":                   `required flag(s) "to" not set; usage: rackfab burst --from NICS --to NIC`,
		"explain pause":                     "usage: rackfab explain pause --link 'X->Y'",
		"explain loss":                      "usage: rackfab explain loss --flow FLOW",
		"explain collective":                "usage: rackfab explain collective NAME [SCENARIO|JOURNAL]",
		"link sideways":                     `rackfab link: unknown command "sideways": must be one of down, up`,
		"status --address foo":              `invalid controller address "foo": must be HOST:PORT`,
		"runs --collector foo":              `invalid collector address "foo": must be HOST:PORT`,
		"health foo":                        `invalid process address "foo": must be HOST:PORT`,
		"run --seed -1":                     "--seed: invalid value \"-1\": must be a whole number, 0 or more, of at most 64 bits; `rackfab run --help` lists the flags",
		"soak --every foo":                  `--every: invalid value "foo": must be a duration such as 90s or 5m; `,
		"run --variant 7 --repeat 5":        "--repeat and --variant cannot be used together",
		"set h0 96KB":                       `invalid setting "h0": must be NODE.KEY or LINK.KEY, such as s1.pfc.xoff; usage: rackfab set`,
		"set h0. 96KB":                      `invalid setting "h0."`,
		"up --address foo":                  `invalid controller address "foo": must be HOST:PORT`,
		"put --from h0 --to h1 --count 0":   `--count: invalid number "0": must be 1 or more`,
		"burst --from h0 --to h1 --flows 0": `--flows: invalid number "0": must be 1 or more`,
		"sweep --length 4ms":                "unknown flag: --length; `rackfab sweep --help` lists the flags",
	} {
		c := root()
		c.SetArgs(strings.Fields(line))
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// Completion offers scenarios, schemes after each comma, and nothing from a rack if
// none runs. Offers begin with the wanted text, or contain it as lines if it begins
// with "\n".
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"__complete run |pcn":                                     "\npcn-16to2\n",
		"__complete run --scheme |pfc,":                           "\npfc,dcqcn\n",
		"__complete run --bus |":                                  "nats\nmemory\n:4\n",
		"__complete scheme |":                                     strings.Join(cc.Choices(), "\n") + "\n:4\n",
		"__complete export --format |csv,":                        "\ncsv,csv\ncsv,parquet\ncsv,hpcc\ncsv,htsim\n:4\n",
		"__complete stats --format |":                             "table\ncsv\njson\n:4\n",
		"__complete traces --format |":                            "table\njson\nchrome\notlp-json\njaeger\n:4\n",
		"__complete capture --filter |data,":                      "\ndata,cnp\n",
		"__complete explain loss --address 127.0.0.1:1 --flow |":  ":4\n",
		"__complete explain pause --address 127.0.0.1:1 --link |": ":4\n",
		"__complete traces --flow |":                              ":4\n",
		"__complete freeze --address 127.0.0.1:1 |":               ":4\n",
		"__complete query --collector 127.0.0.1:1 |":              ":4\n",
		"__complete link down --address 127.0.0.1:1 s0--s1 |":     ":4\n",
		"__complete set --address 127.0.0.1:1 --tls /nowhere |":   ":4\n",
	} {
		c := root()
		var out strings.Builder
		c.SetOut(&out)
		c.SetErr(&out)
		before, last, _ := strings.Cut(line, "|")
		c.SetArgs(append(strings.Fields(before), last))
		if err := c.Execute(); err != nil || !strings.Contains("\n"+out.String(), want) || want[0] != '\n' && !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: %v\n%s", line, err, &out)
		}
	}
}

package processes

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/compose"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/kubernetes"
)

func kubernetesCommand() *cobra.Command {
	var o kubernetes.Options
	var output cli.Output
	c := &cobra.Command{
		Use:   "kubernetes [SCENARIO|FILE] [-- FLAGS]",
		Short: "Write the Kubernetes manifests of a rack on free workers",
		Long: "Write the manifests of a rack in a namespace of its own: a NATS cluster, free workers, a collector with its page, and a Job\n" +
			"that runs the scenario on the workers, or with --live a Deployment of a live run. FLAGS are flags of `rackfab run` or `rackfab up`. Each output has new keys. The default scenario is " + load.Default + ".",
		Example: "rackfab kubernetes pcn-16to2 --workers 3 --image registry.example/rackfab:1 \\\n    -- --scheme pfc,pcn | kubectl apply -f -",
		Args:    scenarioAndFlags,
		RunE: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n >= 0 {
				args, o.More = args[:n], args[n:]
			}
			if err := loadInto(c.ErrOrStderr(), &o, load.Name(args)); err != nil {
				return err
			}
			if err := checkCommand(c.Root(), o.Command()); err != nil {
				return err
			}
			text, err := kubernetes.Manifests(o)
			if err != nil {
				return err
			}
			return output.Write(c, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.Image, "image", compose.Image, "image of rackfab, which the cluster must have or be able to pull")
	flags.StringVar(&o.NATSImage, "nats-image", kubernetes.NATSImage, "image of the NATS server")
	flags.StringVar(&o.Namespace, "namespace", "rackfab", "namespace, which the manifests create")
	flags.IntVar(&o.Workers, "workers", 3, "number of free workers, with one processor each, which share the nodes")
	flags.BoolVar(&o.Live, "live", false, "start a live run, as rackfab up does, instead of a batch run")
	output.AddFlags(c, cli.Stdout, "file to write")
	return c
}

// scenarioAndFlags permits one argument before --, and any number after it.
func scenarioAndFlags(c *cobra.Command, args []string) error {
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	return cobra.MaximumNArgs(1)(c, args)
}

// loadInto sets the scenario of the manifests.
func loadInto(notes io.Writer, o *kubernetes.Options, arg string) error {
	name, text, err := load.File(notes, arg)
	if err != nil {
		return err
	}
	if _, ok := scenariofile.Builtin(arg); ok {
		o.Builtin = arg
	}
	o.Text = text
	o.Scenario, err = scenariofile.Parse(name, text)
	return err
}

// checkCommand reports flags after -- that the command line of the run does not have.
func checkCommand(root *cobra.Command, line []string) error {
	c, args, err := root.Find(line)
	if err == nil {
		err = cmp.Or(c.ParseFlags(args), cli.Faults(c))
	}
	if err != nil {
		return fmt.Errorf("flags of rackfab %s: %w", line[0], err)
	}
	if rest := c.Flags().Args(); len(rest) != 1 {
		return fmt.Errorf("flags of rackfab %s: %q is not a flag", line[0], rest[1:])
	}
	return nil
}

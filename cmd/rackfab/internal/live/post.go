package live

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// postCommand returns the command that posts work requests of a verb at hosts.
func postCommand(name, short string, verb rackfabv1.PostVerb) *cobra.Command {
	p := rackfabv1.Post{Verb: verb}
	var size, every string
	c := change(name+" --from NICS --to NICS", short, cobra.NoArgs, func([]string) (*rackfabv1.Change, error) {
		bytes, err := unit.ParseBytes(size)
		if err != nil {
			return nil, fmt.Errorf("--size: %w", err)
		}
		span, err := unit.ParseTime(every)
		if err != nil {
			return nil, fmt.Errorf("--every: %w", err)
		}
		p.SizeBytes, p.EveryPs = int64(bytes), int64(span)
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Post{Post: &p}}, nil
	})
	flags := c.Flags()
	flags.StringVar(&p.Name, "name", "", "name of the commands (default: "+name+" and a number)")
	flags.StringVar(&p.From, "from", "", "NICs whose hosts post them: h2..h15")
	flags.StringVar(&p.To, "to", "", "NICs that they are for")
	flags.StringVar(&size, "size", "64KB", "bytes of each")
	flags.Int32Var(&p.Count, "count", 1, "how many from each NIC to each other")
	flags.StringVar(&every, "every", "0", "how much later each further one is posted")
	_ = c.MarkFlagRequired("from") // it exists
	_ = c.MarkFlagRequired("to")   // it exists
	return c
}

package live

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// changeCommands returns the commands that change a running rack.
func changeCommands() []*cobra.Command {
	link := &cobra.Command{Use: "link", Short: "Take a link of the running rack down, or bring it up", Example: "rackfab link down s0--s1"}
	link.AddCommand(
		nameCommand("down A--B", "Take a link down: frames on it are lost, and routes avoid it", "rackfab link down s0--s1 --at 400ms", func(name string) *rackfabv1.Change {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_LinkDown{LinkDown: name}}
		}),
		nameCommand("up A--B", "Bring a link up again", "rackfab link up s0--s1 --at 401ms", func(name string) *rackfabv1.Change {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_LinkUp{LinkUp: name}}
		}))
	return []*cobra.Command{
		link, burstCommand(),
		nameCommand("stop-flow NAME", "Stop a flow, or all flows of a burst", "rackfab stop-flow incast", func(name string) *rackfabv1.Change {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_StopFlow{StopFlow: name}}
		}),
		postCommand("put", "Post RDMA WRITE requests at hosts", rackfabv1.PostVerb_POST_VERB_WRITE),
		postCommand("get", "Post RDMA READ requests at hosts", rackfabv1.PostVerb_POST_VERB_READ),
		postCommand("send", "Post SEND requests at hosts", rackfabv1.PostVerb_POST_VERB_SEND),
		changeCommand(&cobra.Command{
			Use: "set NODE.KEY|LINK.KEY VALUE", Short: "Change a setting of nodes or links", Args: cobra.MatchAll(cobra.ExactArgs(2), settingKey),
			Example: "rackfab set s1.pfc.xoff 96KB\nrackfab set s0--s1.loss 1e-5",
		}, func(args []string) *rackfabv1.Change {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: args[0], Value: args[1]}}}
		}),
		schemeCommand(),
		nameCommand("freeze NICS", "Freeze NICs: they send nothing and drop what arrives", "rackfab freeze h3", func(name string) *rackfabv1.Change {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Freeze{Freeze: name}}
		}),
		nameCommand("thaw NICS", "Resume frozen NICs", "rackfab thaw h3", func(name string) *rackfabv1.Change {
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Thaw{Thaw: name}}
		}),
	}
}

// settingKey checks that the first argument of `rackfab set` names a key.
func settingKey(_ *cobra.Command, args []string) error {
	if of, key, _ := strings.Cut(args[0], "."); of == "" || key == "" {
		return fmt.Errorf("invalid setting %q: must be NODE.KEY or LINK.KEY, such as s1.pfc.xoff", args[0])
	}
	return nil
}

// nameCommand returns a command for a change that consists of one name.
func nameCommand(use, short, example string, of func(name string) *rackfabv1.Change) *cobra.Command {
	return changeCommand(&cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ExactArgs(1)},
		func(args []string) *rackfabv1.Change { return of(args[0]) })
}

// changeCommand makes c apply a change and print its instant.
func changeCommand(c *cobra.Command, change func(args []string) *rackfabv1.Change) *cobra.Command {
	var at int64
	client.RackCall(c, rackfabv1.FabricServiceClient.Apply, func(args []string) (*rackfabv1.ApplyRequest, error) {
		q := &rackfabv1.ApplyRequest{Change: change(args)}
		if c.Flags().Changed("at") {
			q.AtPs = &at
		}
		return q, nil
	}, func(out *rackfabv1.ApplyResponse) string {
		return made(out.GetChange().GetChange()) + " at " + unit.Time(out.GetChange().GetAtPs()).String()
	})
	cli.TimeFlag(c, &at, "at", "", "instant of fabric time, such as 12.5ms (default: as early as possible)")
	return c
}

// made returns what a change does, in words.
func made(c *rackfabv1.Change) string {
	switch verb := c.GetVerb().(type) {
	case *rackfabv1.Change_LinkDown:
		return verb.LinkDown + " down"
	case *rackfabv1.Change_LinkUp:
		return verb.LinkUp + " up"
	case *rackfabv1.Change_StopFlow:
		return verb.StopFlow + " stopped"
	case *rackfabv1.Change_Freeze:
		return verb.Freeze + " frozen"
	case *rackfabv1.Change_Thaw:
		return verb.Thaw + " thawed"
	case *rackfabv1.Change_Set:
		return verb.Set.GetKey() + " = " + verb.Set.GetValue()
	case *rackfabv1.Change_Scheme:
		return verb.Scheme.GetName() + " for " + verb.Scheme.GetFlows()
	default:
		return cmp.Or(c.GetBurst().GetName(), c.GetPost().GetName())
	}
}

// fromAndTo adds the required flags of a change between NICs.
func fromAndTo(c *cobra.Command, from, to *string, fromUsage, toUsage string) {
	c.Flags().StringVar(from, "from", "", fromUsage)
	c.Flags().StringVar(to, "to", "", toUsage)
	_ = c.MarkFlagRequired("from") // it exists
	_ = c.MarkFlagRequired("to")   // it exists
}

func burstCommand() *cobra.Command {
	b := rackfabv1.Burst{TrafficClass: new(uint32)}
	c := changeCommand(&cobra.Command{
		Use: "burst --from NICS --to NIC", Short: "Start flows at the same instant: an incast", Args: cobra.NoArgs,
		Example: "rackfab burst --name incast --from h2..h15 --to r1 --flows 16 --size 64KB",
	}, func([]string) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &b}}
	})
	flags := c.Flags()
	flags.StringVar(&b.Name, "name", "", "name of the burst (default: burst and a number)")
	fromAndTo(c, &b.From, &b.To, "sending `NICS`: h2..h15", "receiving `NIC`")
	cli.CountFlag(c, &b.FlowsPerSender, "flows", "`number` of flows per sender")
	cli.Var(c, "size", "size", "64KB", "size of each flow, or endless", func(text string) error {
		if text == "endless" {
			b.Volume = &rackfabv1.Burst_Endless{Endless: true}
			return nil
		}
		n, err := unit.ParseBytes(text)
		b.Volume = &rackfabv1.Burst_SizeBytes{SizeBytes: int64(n)}
		return err
	})
	flags.Uint32Var(b.TrafficClass, "class", uint32(topology.DataClass), "traffic `class` of the flows, 0 to 7")
	return c
}

// postCommand returns the command that posts work requests of a verb at hosts.
func postCommand(name, short string, verb rackfabv1.PostVerb) *cobra.Command {
	p := rackfabv1.Post{Verb: verb}
	c := changeCommand(&cobra.Command{
		Use: name + " --from NICS --to NICS", Short: short, Args: cobra.NoArgs,
		Example: "rackfab " + name + " --from r1 --to h2..h5 --size 1MB --count 4",
	}, func([]string) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Post{Post: &p}}
	})
	flags := c.Flags()
	flags.StringVar(&p.Name, "name", "", "name of the requests (default: "+name+" and a number)")
	fromAndTo(c, &p.From, &p.To, "`NICS` whose hosts post: h2..h15", "`NICS` of the targets")
	cli.BytesFlag(c, &p.SizeBytes, "size", "64KB", "size of each request")
	cli.CountFlag(c, &p.Count, "count", "`number` of requests from each NIC to each target")
	cli.TimeFlag(c, &p.EveryPs, "every", "0", "interval between two requests (default: 0, all at the same instant)")
	if verb == rackfabv1.PostVerb_POST_VERB_SEND {
		transportFlag(c, &p.Transport)
	}
	return c
}

// transportFlag adds the flag of the transport of sends.
func transportFlag(c *cobra.Command, transport *rackfabv1.Transport) {
	cli.Var(c, "transport", "name", "rc", "rc, reliable, or ud: each request is one datagram, of at most nic.payload", func(name string) error {
		switch name {
		case "rc":
			*transport = rackfabv1.Transport_TRANSPORT_RC
		case "ud":
			*transport = rackfabv1.Transport_TRANSPORT_UD
		default:
			return fmt.Errorf("unknown transport %q, want rc or ud", name)
		}
		return nil
	})
}

// schemeCommand returns the command that changes the congestion control of flows.
func schemeCommand() *cobra.Command {
	var flows string
	c := changeCommand(&cobra.Command{
		Use: "scheme NAME", Short: "Switch flows to another congestion control: " + strings.Join(cc.Choices(), ", "), Args: cobra.ExactArgs(1),
		Example: "rackfab scheme pfc --flows 'h2*->r1'",
	}, func(args []string) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: args[0], Flows: flows}}}
	})
	c.Flags().StringVar(&flows, "flows", "*->*", "present and future flows: FROM->TO with names, ranges and *, such as 'h*->r1'")
	return c
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// cethReaction is an experiment that follows one flow through an episode of congestion,
// packet by packet. It reproduces figures 3 and 16 of the document on CETH.
const cethReaction = "ceth-reaction"

// reaction is the outcome under one scheme.
type reaction struct {
	Scheme string `json:"scheme"`
	Digest string `json:"digest"`
	measure.ReactionResult
	Marks int   `json:"marked"` // packets of the flow
	ACKs  int64 `json:"acks"`   // received by the senders, of all flows
	CNPs  int64 `json:"cnps"`   // sent by the receiver
}

// reactions is the content of reaction.json.
type reactions struct {
	Scenario string     `json:"scenario"`
	Bus      string     `json:"bus"`
	Seed     uint64     `json:"seed"`
	Flow     string     `json:"flow"`
	Runs     []reaction `json:"runs"`
	// Published are the baselines with DCQCN's published settings, without their
	// packets.
	Published []reaction `json:"published"`
	duration  unit.Time
}

// runReaction follows the flow under each scheme, and under DCQCN with its published
// settings.
func runReaction(c *cobra.Command, b *bench, f runFlags) error {
	base, err := loadScenario(cethReaction)
	if err != nil {
		return err
	}
	scenarios, err := prepare(c, base, f)
	if err != nil {
		return err
	}
	s := scenarios[0]
	all := reactions{Scenario: s.Name, Bus: f.bus, Seed: s.Seed, Flow: s.Flows[0].Name, duration: s.Duration}
	if all.Runs, err = reactAll(b, scenarios); err != nil {
		return err
	}
	if all.Published, err = reactAll(b, published(s, f)); err != nil {
		return err
	}
	for i := range all.Published {
		all.Published[i].Packets, all.Published[i].Rates = nil, nil
	}
	if err := all.write(f.out, s); err != nil {
		return err
	}
	if f.json {
		return writeJSON(c.OutOrStdout(), all)
	}
	return all.print(c.OutOrStdout(), f.out)
}

// published returns the baselines with DCQCN's published settings. The scenario's own
// settings are scaled to the document's drawing. With the published ones recovery takes
// so long that the run lasts publishedDuration, unless a flag sets the duration.
func published(s *topology.Scenario, f runFlags) []*topology.Scenario {
	var scenarios []*topology.Scenario
	for _, scheme := range []string{"cnp", "dcqcn"} {
		c := *s
		c.Scheme, c.CC.DCQCN = scheme, cc.DefaultDCQCN()
		if f.duration == "" {
			c.Duration, c.Bin = publishedDuration, unit.Millisecond
		}
		scenarios = append(scenarios, &c)
	}
	return scenarios
}

const publishedDuration = 40 * unit.Millisecond

func reactAll(b *bench, scenarios []*topology.Scenario) (runs []reaction, err error) {
	for _, s := range scenarios {
		r, err := react(b, s)
		if err != nil {
			return nil, err
		}
		runs = append(runs, *r)
	}
	return runs, nil
}

// react runs the scenario and follows its first flow.
func react(b *bench, s *topology.Scenario) (*reaction, error) {
	r := reaction{Scheme: s.Scheme}
	followed := measure.NewReaction(s, 0)
	kinds := append([]fabric.Kind{fabric.Acked, fabric.Notified}, measure.ReactionKinds...)
	run, err := b.run(s, kinds, func(_ int, notes []fabric.Note) {
		followed.Observe(notes)
		for i := range notes {
			switch notes[i].Kind {
			case fabric.Acked:
				r.ACKs++
			case fabric.Notified:
				r.CNPs++
			default:
			}
		}
	})
	if err != nil {
		return nil, err
	}
	r.Digest, r.ReactionResult = run.Digest, followed.Result()
	r.Marks = r.marks()
	return &r, nil
}

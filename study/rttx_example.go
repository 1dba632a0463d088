package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Step is one step of the worked example of RTTX, [0071] to [0074].
type Step struct {
	At       unit.Time `json:"at"` // Never if the step did not occur
	What     string    `json:"what"`
	Document string    `json:"document"` // value in the document
	Here     string    `json:"here"`     // value in the fabric
}

// Example is the result of RTTXExample.
type Example struct {
	Scenario *topology.Scenario // with conversion
	Steps    []Step
	Runs     []*measure.Run // with conversion, and without
}

// RTTXExample runs the worked example of the conversion of ECN into RTT (RTTX-57), with
// and without conversion. Both runs are identical, packet for packet, until the first
// rewritten ACK arrives.
func RTTXExample(bench Bench, set []topology.Setting) (*Example, error) {
	with, err := follow(bench, set)
	if err != nil {
		return nil, err
	}
	without, err := follow(bench, append(withoutD(set), topology.Setting{Key: "s0.rewrite", Value: "{3: none}"}))
	if err != nil {
		return nil, err
	}
	return &Example{with.scenario, with.steps(&without), []*measure.Run{with.run, without.run}}, nil
}

// withoutD returns the settings without that of D, which only converting schemes
// accept.
func withoutD(set []topology.Setting) []topology.Setting {
	return slices.DeleteFunc(slices.Clone(set), func(s topology.Setting) bool { return strings.HasSuffix(s.Key, ".rttx_d") })
}

// example records the events of flow F.
type example struct {
	scenario        *topology.Scenario
	run             *measure.Run
	packets, marked int       // in the first window, at s0
	closed          unit.Time // end of the window
	level, was      int
	rewritten       heard // the first rewrite
	psn             int64 // of the rewritten ACK
	// Indexed by the PSN of the ACK.
	samples, rates, before map[int64]unit.Rate
	arrivals               map[int64]unit.Time
}

// exampleKinds are the kinds of notes that the example needs.
var exampleKinds = []fabric.Kind{
	fabric.Enqueued, fabric.EventCounted, fabric.LevelChanged, fabric.Rewritten, fabric.Acked, fabric.Measured, fabric.RateChanged,
}

func follow(bench Bench, set []topology.Setting) (example, error) {
	s, err := parse("rttx-example", set)
	if err != nil {
		return example{}, err
	}
	var all []heard
	run, err := bench(s, exampleKinds, func(node int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Flow == 0 {
				all = append(all, heard{node, n})
			}
		}
	})
	inOrder(all)
	e := example{
		scenario: s, run: run,
		closed: unit.Never, rewritten: heard{Note: fabric.Note{At: unit.Never}}, psn: -1,
		samples: map[int64]unit.Rate{}, rates: map[int64]unit.Rate{}, before: map[int64]unit.Rate{}, arrivals: map[int64]unit.Time{},
	}
	for _, n := range all {
		e.take(n, s.Nodes[n.node].Kind == topology.Switch)
	}
	return e, err
}

// take records a note. A packet counts when it arrives at the switch. ACKs leave the
// switch, and arrive, in the order of their PSNs.
func (e *example) take(n heard, atSwitch bool) {
	acks := int64(len(e.arrivals))
	switch {
	case n.Kind == fabric.Enqueued && atSwitch && e.closed == unit.Never && n.Bytes() > smallest:
		e.packets++
	case n.Kind == fabric.EventCounted && e.closed == unit.Never:
		e.marked++
	case n.Kind == fabric.LevelChanged && e.closed == unit.Never:
		e.closed, e.level, e.was = n.At, n.Level(), n.OldLevel()
	case n.Kind == fabric.Rewritten && e.rewritten.At == unit.Never:
		e.rewritten = n
	case n.Kind == fabric.Acked:
		e.arrivals[int64(n.PSN())] = n.At
	case n.Kind == fabric.Measured && acks > 0:
		e.samples[acks-1] = unit.Rate(n.Duration())
	case n.Kind == fabric.RateChanged && acks > 0:
		e.rates[acks-1], e.before[acks-1] = n.Rate(), n.OldRate()
	}
}

// smallest is a frame length that every data frame of the example exceeds and no ACK
// exceeds.
const smallest = 200

// steps compares the example with the same run without conversion. The first rewritten
// ACK is the first whose sample differs.
func (e *example) steps(plain *example) []Step {
	for psn := int64(0); psn < int64(len(e.samples)) && e.psn < 0; psn++ {
		if e.samples[psn] != plain.samples[psn] {
			e.psn = psn
		}
	}
	at, ok := e.arrivals[e.psn]
	if !ok {
		at = unit.Never
	}
	grown := unit.Time(e.samples[e.psn] - plain.samples[e.psn])
	return []Step{
		{e.closed, "window 1 of the flow at the switch", "P = 8, P_e = 5", fmt.Sprintf("P = %d, P_e = %d", e.packets, e.marked)},
		{e.closed, "table 1: e in [0.6, 0.8)", "level 3", fmt.Sprintf("level %d (%s), was %d", e.level, rttx.StateOf(e.level, rttx.TableLevels), e.was)},
		{e.rewritten.At, "the next ACK at the switch", "T_r + 1 us", fmt.Sprintf("T_r + %s", e.rewritten.Duration())},
		{at, fmt.Sprintf("the RTT that the sender takes from it (PSN %d)", e.psn), "about 1 us more", fmt.Sprintf("%s, without conversion %s: %s more",
			unit.Time(e.samples[e.psn]), unit.Time(plain.samples[e.psn]), grown)},
		{at, "the sender's rate", "lowered", fmt.Sprintf("%s, without conversion %s", change(e.before[e.psn], e.rates[e.psn]), change(plain.before[e.psn], plain.rates[e.psn]))},
	}
}

// change formats a rate change in per cent.
func change(from, to unit.Rate) string {
	if from == 0 {
		return "unchanged"
	}
	return fmt.Sprintf("%+.2f %%", 100*(float64(to)/float64(from)-1))
}

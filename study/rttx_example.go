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
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// exampleStep is one step of the worked example of RTTX, [0071] to [0074].
type exampleStep struct {
	At       unit.Time `json:"at"` // Never if the step did not occur
	What     string    `json:"what"`
	Document string    `json:"document"` // value in the document
	Here     string    `json:"here"`     // value in the fabric
}

// exampleResult is the content of rttx-example.json.
type exampleResult struct {
	Bus     string        `json:"bus"`
	Digests []string      `json:"digests"` // with conversion and without
	Steps   []exampleStep `json:"steps"`
}

// rttxExample follows the worked example of the conversion of ECN into RTT (RTTX-57).
func rttxExample(b Bench, set []topology.Setting) (*Result, error) {
	with, without, err := exampleRuns(b, set)
	if err != nil {
		return nil, err
	}
	r := &Result{Runs: []*measure.Run{with.run, without.run}}
	steps := with.steps(without)
	r.JSON = sweep.JSONFile("rttx-example", exampleResult{Bus: b.Bus(), Digests: []string{with.run.Digest, without.run.Digest}, Steps: steps})
	r.Table = table.New(2, "at", "step", "document", "here")
	for _, s := range steps {
		at := "never"
		if s.At != unit.Never {
			at = s.At.String()
		}
		r.Table.Row(at, s.What, s.Document, s.Here)
	}
	return r, r.addScenario(with.scenario)
}

// exampleRuns runs the example with and without conversion. Both runs are identical,
// packet for packet, until the first rewritten ACK arrives.
func exampleRuns(b Bench, set []topology.Setting) (with, without *example, err error) {
	if with, err = follow(b, set); err != nil {
		return nil, nil, err
	}
	without, err = follow(b, append(withoutD(set), topology.Setting{Key: "s0.rewrite", Value: "{3: none}"}))
	return with, without, err
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
	rewritten       nodeNote // the first rewrite
	psn             int64    // of the rewritten ACK
	// Indexed by the PSN of the ACK.
	samples, rates, before map[int64]unit.Rate
	arrivals               map[int64]unit.Time
}

// exampleKinds are the kinds of notes that the example needs.
var exampleKinds = []fabric.Kind{
	fabric.Enqueued, fabric.EventCounted, fabric.LevelChanged, fabric.Rewritten, fabric.Acked, fabric.Measured, fabric.RateChanged,
}

func follow(b Bench, set []topology.Setting) (*example, error) {
	s, err := builtin("rttx-example", set)
	if err != nil {
		return nil, err
	}
	var all []nodeNote
	run, err := b.Run(s, exampleKinds, func(node int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Flow == 0 {
				all = append(all, nodeNote{node, n})
			}
		}
	})
	inOrder(all)
	e := &example{
		scenario: s, run: run,
		closed: unit.Never, rewritten: nodeNote{Note: fabric.Note{At: unit.Never}}, psn: -1,
		samples: map[int64]unit.Rate{}, rates: map[int64]unit.Rate{}, before: map[int64]unit.Rate{}, arrivals: map[int64]unit.Time{},
	}
	for _, n := range all {
		e.take(n, s.Nodes[n.node].Kind == topology.Switch)
	}
	return e, err
}

// take records a note. A packet counts when it arrives at the switch. ACKs leave the
// switch, and arrive, in the order of their PSNs.
func (e *example) take(n nodeNote, atSwitch bool) {
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
func (e *example) steps(plain *example) []exampleStep {
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
	return []exampleStep{
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

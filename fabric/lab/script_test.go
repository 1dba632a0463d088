package lab_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Scripts in testdata are stories: a comment that says why, a command, "----",
// and what the fabric did. `go test ./fabric/lab -rewrite` writes the outcomes
// anew; commit the changes only if you understand what caused them.
//
//	rack [scheme=S] [builtin=NAME] [set=(KEY,VALUE)]
//	                                   the scenario, as YAML below or built in
//	run until=T [show=KIND,...] [at=NODE,...] [flow=NAME,...] [first=N] [last=N]
//	                                   go on, and print the notes chosen
//	count until=T [show=KIND,...] [at=NODE,...] by=node|flow|port|class
//	                                   go on, and count the notes chosen
//	figures                            run to the end and print the measures
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt") // rapid writes files of its own below testdata
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			b := &bench{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				return b.obey(t, d)
			})
		})
	}
}

// bench is the rack of a script.
type bench struct {
	s     *topology.Scenario
	l     *lab.Lab
	notes []nodeNote
}

// nodeNote is a note and the node that it came from.
type nodeNote struct {
	node int
	fabric.Note
}

func (b *bench) obey(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "rack":
		return b.rack(t, d)
	case "run":
		return b.print(b.advance(t, d), d)
	case "count":
		return b.count(b.advance(t, d), d)
	case "figures":
		return b.figures(t)
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

func (b *bench) rack(t *testing.T, d *datadriven.TestData) string {
	text := []byte(d.Input)
	if d.HasArg("builtin") {
		var name string
		d.ScanArgs(t, "builtin", &name)
		text, _ = scenariofile.Builtin(name)
	}
	var set []topology.Setting
	if pair := list(d, "set"); pair != nil {
		set = append(set, topology.Setting{Key: pair[0], Value: pair[1]})
	}
	s, err := scenariofile.ParseWith("rack.yaml", text, set)
	if err != nil {
		return err.Error()
	}
	if d.HasArg("scheme") {
		d.ScanArgs(t, "scheme", &s.Scheme)
	}
	l, err := lab.New(s)
	if err != nil {
		return err.Error()
	}
	b.s, b.l = s, l
	l.PerFrame = true
	l.Listen = func(node int, notes []fabric.Note) {
		for _, n := range notes {
			b.notes = append(b.notes, nodeNote{node, n})
		}
	}
	return fmt.Sprintf("%d nodes, %d links, %d flows under %s", len(s.Nodes), len(s.Links), len(s.Flows), s.Scheme)
}

// advance runs to the instant given and picks the notes chosen.
func (b *bench) advance(t *testing.T, d *datadriven.TestData) []nodeNote {
	var text string
	d.ScanArgs(t, "until", &text)
	until, err := unit.ParseTime(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	b.notes = b.notes[:0]
	b.l.Run(until)
	slices.SortStableFunc(b.notes, func(x, y nodeNote) int {
		if x.At != y.At {
			return int(min(max(x.At-y.At, -1), 1))
		}
		return x.node - y.node
	})
	kinds, nodes, flows := list(d, "show"), list(d, "at"), list(d, "flow")
	var chosen []nodeNote
	for _, n := range b.notes {
		if fits(kinds, n.Kind.String()) && fits(nodes, b.s.Nodes[n.node].Name) && fits(flows, b.flow(n.Flow)) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

func list(d *datadriven.TestData, key string) (words []string) {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			words = append(words, a.Vals...)
		}
	}
	return words
}

func fits(words []string, word string) bool { return len(words) == 0 || slices.Contains(words, word) }

func (b *bench) flow(id fabric.FlowID) string {
	if int(id) < len(b.s.Flows) {
		return b.s.Flows[id].Name
	}
	for _, k := range b.s.Connections() {
		if k.ID == id {
			return b.s.Nodes[k.From].Name + ">" + b.s.Nodes[k.To].Name
		}
	}
	return "-"
}

// command names the commands that a note of a connection concerns.
func (b *bench) command(h nodeNote) string {
	if i := topology.CommandOf(b.s.Streams(), uint32(h.Trace)); i >= 0 {
		return b.s.Commands[i].Name
	}
	return "-"
}

func (b *bench) print(notes []nodeNote, d *datadriven.TestData) string {
	total := len(notes)
	var n int
	if a := list(d, "first"); a != nil {
		_, _ = fmt.Sscan(a[0], &n)
		notes = notes[:min(n, total)]
	}
	if a := list(d, "last"); a != nil {
		_, _ = fmt.Sscan(a[0], &n)
		notes = notes[max(0, total-n):]
	}
	var out strings.Builder
	for _, h := range notes {
		fmt.Fprintf(&out, "%-12s %s\n", h.At, b.line(h))
	}
	if left := total - len(notes); left > 0 {
		fmt.Fprintf(&out, "(%d more)\n", left)
	}
	if total == 0 {
		return "(nothing)"
	}
	return out.String()
}

// line writes what happened in the words of the fabric.
func (b *bench) line(h nodeNote) string {
	where := fmt.Sprintf("%s %-15s", b.s.Nodes[h.node].Name, h.Kind)
	if b.s.Nodes[h.node].Kind == topology.Switch {
		where = fmt.Sprintf("%s:p%d %-15s", b.s.Nodes[h.node].Name, h.Port, h.Kind)
	}
	flow := b.flow(h.Flow)
	switch h.Kind {
	case fabric.Enqueued, fabric.Dequeued:
		return fmt.Sprintf("%s %s %d B, queue %d B", where, flow, h.Bytes(), h.Queue())
	case fabric.LevelChanged:
		return fmt.Sprintf("%s %s %d -> %d", where, flow, h.OldLevel(), h.Level())
	case fabric.Rewritten:
		return fmt.Sprintf("%s %s by %s, level %d", where, flow, h.Duration(), h.Level())
	case fabric.Measured:
		return fmt.Sprintf("%s %s RTT %s", where, flow, h.Duration())
	case fabric.Marked, fabric.EventCounted:
		return fmt.Sprintf("%s %s queue %d B", where, flow, h.Queue())
	case fabric.Transmitted, fabric.Received:
		return fmt.Sprintf("%s %s %d B, psn %d", where, flow, h.Bytes(), h.PSN())
	case fabric.Acked, fabric.NakSent, fabric.TimedOut:
		return fmt.Sprintf("%s %s psn %d", where, flow, h.PSN())
	case fabric.Delivered:
		return fmt.Sprintf("%s %s %d B", where, flow, h.Bytes())
	case fabric.Replayed:
		return fmt.Sprintf("%s %d frames, %d B", where, h.Packets(), h.Bytes())
	case fabric.Dropped, fabric.Erred:
		return fmt.Sprintf("%s %s %d B, %s", where, flow, h.Bytes(), h.Reason())
	case fabric.Trimmed:
		return fmt.Sprintf("%s %s %d B, %d of them cut off", where, flow, h.Bytes(), h.Cut())
	case fabric.TrimmedIn:
		return fmt.Sprintf("%s %s psn %d, class %d", where, flow, h.PSN(), h.Priority)
	case fabric.PauseSent, fabric.ResumeSent:
		return fmt.Sprintf("%s class %d, occupancy %d B", where, h.Priority, h.Queue())
	case fabric.Paused:
		return fmt.Sprintf("%s class %d", where, h.Priority)
	case fabric.Resumed:
		return fmt.Sprintf("%s class %d, paused for %s", where, h.Priority, h.Duration())
	case fabric.RateChanged:
		return fmt.Sprintf("%s %s %.3f -> %.3f Gbit/s", where, flow, float64(h.OldRate())/1e9, float64(h.Rate())/1e9)
	case fabric.Notified, fabric.NotificationIn:
		return fmt.Sprintf("%s %s %s, received at %d Mbit/s", where, flow, congested(h.Event), h.RecRate())
	case fabric.CNMSent:
		return fmt.Sprintf("%s %s feedback %d, queue %d B", where, flow, h.Feedback(), h.Queue())
	case fabric.Requested:
		return fmt.Sprintf("%s %s %s: response %d B, psn %d", where, flow, b.command(h), h.Response(), h.PSN())
	case fabric.PassedOver:
		return fmt.Sprintf("%s %s response %d B, %s %d B", where, flow, h.Response(), h.Bound(), h.Room())
	case fabric.CommandPosted:
		return fmt.Sprintf("%s %s %s: %d B", where, flow, b.command(h), h.Size())
	case fabric.CommandDone:
		return fmt.Sprintf("%s %s %s in %s", where, flow, b.command(h), h.At-h.Start())
	case fabric.ListSearched:
		return fmt.Sprintf("%s %s", where, map[bool]string{false: "no message arrived before", true: "a message arrived before"}[h.Found()])
	case fabric.CommandFailed, fabric.CommandRefused, fabric.Unexpected:
		return fmt.Sprintf("%s %s %s", where, flow, b.command(h))
	case fabric.CreditGranted:
		return fmt.Sprintf("%s %s %d quanta, coefficient %.3f", where, flow, h.Quanta(), h.Coefficient())
	case fabric.CreditWasted:
		return fmt.Sprintf("%s %s %d B, %d B of them lost", where, flow, h.Bytes(), h.Lost())
	case fabric.CNMIn:
		return fmt.Sprintf("%s %s feedback %d", where, flow, h.Feedback())
	case fabric.Indicated, fabric.IndicationIn:
		return fmt.Sprintf("%s %s %s, %s", where, flow, congested(h.Event), cc.Degree(h.Degree()))
	case fabric.OutOfSequence:
		return fmt.Sprintf("%s %s psn %d, expected %d", where, flow, h.PSN(), h.ExpectedPSN())
	case fabric.Retransmitted:
		return fmt.Sprintf("%s %s from psn %d, %d frames", where, flow, h.PSN(), h.Packets())
	case fabric.FlowStarted:
		return fmt.Sprintf("%s %s %d B", where, flow, h.Bytes())
	case fabric.Completed:
		return fmt.Sprintf("%s %s %d B in %s", where, flow, h.Bytes(), h.At-h.Start())
	default:
		a, b := h.Encoded()
		return fmt.Sprintf("%s %s a=%d b=%d", where, flow, a, b)
	}
}

func congested(e fabric.Event) string {
	return map[bool]string{false: "clear", true: "congested"}[e.Congested()]
}

func (b *bench) count(notes []nodeNote, d *datadriven.TestData) string {
	by := list(d, "by")
	counts := map[string]int{}
	for _, h := range notes {
		key := h.Kind.String()
		switch {
		case slices.Contains(by, "node"):
			key = b.s.Nodes[h.node].Name + " " + key
		case slices.Contains(by, "port"):
			key = fmt.Sprintf("%s:p%d %s", b.s.Nodes[h.node].Name, h.Port, key)
		case slices.Contains(by, "class"):
			key = fmt.Sprintf("class %d %s", h.Priority, key)
		case slices.Contains(by, "flow"):
			key = b.flow(h.Flow) + " " + key
		}
		counts[key]++
	}
	if len(counts) == 0 {
		return "(nothing)"
	}
	lines := make([]string, 0, len(counts))
	for k, n := range counts {
		lines = append(lines, fmt.Sprintf("%s %d", k, n))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func (b *bench) figures(t *testing.T) string {
	b.l.Run(b.s.Duration)
	run, err := measure.Merge(b.s, b.l.Results())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "tree %s, loss %s, drops %d, retransmitted %d\n", run.Tree, run.Loss, run.Drops, run.Retransmits)
	for _, f := range run.Flows {
		fmt.Fprintf(&out, "%s %s->%s %.2f Gbit/s, in the burst %.2f\n", f.Name, f.From, f.To, float64(f.Goodput)/1e9, float64(f.BurstGoodput)/1e9)
	}
	if run.Burst.Flows > 0 {
		fmt.Fprintf(&out, "burst %d/%d flows, p50 %s, p99 %s\n", run.Burst.Completed, run.Burst.Flows, run.Burst.P50, run.Burst.P99)
	}
	for _, c := range run.Commands {
		fmt.Fprintf(&out, "%s %s %d/%d, %.2f Gbit/s, p50 %s, p99 %s\n", c.Name, c.Verb, c.Completed, c.Commands, float64(c.Goodput)/1e9, c.P50, c.P99)
	}
	for _, i := range run.Initiators {
		fmt.Fprintf(&out, "%s: queue to it %s, %d PAUSE frames, stalls %s IN and %s OUT, %d skips\n", i.Name, i.Queue, i.PAUSE, i.StallIn, i.StallOut, i.Skips)
	}
	for _, p := range run.Pauses {
		fmt.Fprintf(&out, "pause %s %d frames, %s\n", p.Link, p.XOFF, p.Paused)
	}
	return out.String()
}

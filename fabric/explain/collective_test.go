package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// askCollective returns the report about the collective sum, and checks its consistency: the messages of
// the path follow each other, each from the rank that the one before it went to, and fill the time of the
// collective.
func askCollective(t *testing.T, s *topology.Scenario) *CollectiveReport {
	t.Helper()
	r, err := AskCollective(s, "sum", nil)
	if err != nil {
		t.Fatal(err)
	}
	at, explained := r.Begin+r.Late, r.Delays
	for i, m := range r.Path {
		if m.Begin != at || m.End <= m.Begin || i > 0 && m.From != r.Path[i-1].To {
			t.Errorf("message %d, %+v, begins when the one before it ended at %s", i, m, at)
		}
		if b := m.Busiest; b.Link == "" || b.Total() > m.End-m.Begin || total(b.Others) != b.Shared || total(b.Pausers) != b.Paused {
			t.Errorf("message %d from %s to %s: %+v", i, m.Begin, m.End, b)
		}
		at = m.End
	}
	for i := range r.Links {
		explained += r.Links[i].Total()
	}
	end := r.Begin + r.Time
	if !r.Finished() {
		end = s.Duration
	}
	if len(r.Path) > 0 && (at != end || explained != end-r.Begin-r.Late) {
		t.Errorf("the path ends at %s and explains %s of the time from %s to %s", at, explained, r.Begin, end)
	}
	return r
}

func total(of []TimeOf) (sum unit.Time) {
	for _, t := range of {
		sum += t.Time
	}
	return sum
}

// star is a ring all-reduce of eight hosts on one switch, with one link at its own rate.
const star = `
name: star
duration: 10ms
scheme: %s
nics: {h0..h7: , r0: }
switches: {s0: }
links:
  - {endpoints: ["h0..h2, h4..h7, r0", s0], rate: 100Gbps, delay: 1us}
  - {endpoints: [h3, s0], rate: %s, delay: 1us%s}
collectives:
  - {name: sum, kind: all-reduce, ranks: h0..h7, size: 2MB}
%s`

// COLL-13: With one slow link the explanation names that link.
func TestCollectiveNamesTheSlowLink(t *testing.T) {
	for _, scheme := range []string{"pfc", "pcn", "nscc", "irn"} {
		r := askCollective(t, parse(t, fmt.Sprintf(star, scheme, "10Gbps", "", "")))
		most := r.Links[0]
		if most.Link != "h3->s0" && most.Link != "s0->h3" || most.Rate != 10e9 || 2*most.Data < r.Time || most.Shared > most.Data/50 || most.Paused > most.Data/50 {
			t.Errorf("%s: %+v", scheme, most)
		}
		want := fmt.Sprintf("sum took %s: link %s took the most, %s, at 10.0 Gbit/s of 100.0 Gbit/s: ", brief(r.Time), most.Link, brief(most.Total()))
		if !strings.HasPrefix(r.Verdict, want) {
			t.Errorf("%s: verdict %q, want %q…", scheme, r.Verdict, want)
		}
		if len(r.Path) != 14 {
			t.Errorf("%s: a path of %d messages, want the 14 of a ring", scheme, len(r.Path))
		}
	}
}

// With equal links, no link takes more than a few of the messages.
func TestCollectiveOnEqualLinks(t *testing.T) {
	r := askCollective(t, parse(t, fmt.Sprintf(star, "pcn", "100Gbps", "", "")))
	if most := r.Links[0]; most.Total() > r.Time/4 || most.Shared+most.Paused+most.Recovery != 0 || strings.Contains(r.Verdict, " of 100.0 Gbit/s") {
		t.Errorf("%+v; %s", most, r.Verdict)
	}
}

// COLL-14: A flow that shares a link with the collective is named with the link. The links of the flow that the path does not
// cross are not.
func TestCollectiveNamesTheCompetingFlow(t *testing.T) {
	flow := "flows:\n  - {name: F0, from: r0, to: h4, size: endless}\n"
	for _, scheme := range []string{"pfc", "pcn", "nscc"} {
		r := askCollective(t, parse(t, fmt.Sprintf(star, scheme, "100Gbps", "", flow)))
		most := r.Links[0]
		if most.Link != "s0->h4" && (scheme != "pfc" || most.Link != "h3->s0") {
			t.Errorf("%s: %+v", scheme, r.Links)
		}
		if i := slices.IndexFunc(r.Links, func(c LinkCost) bool { return c.Link == "s0->h4" }); i >= 0 {
			if c := r.Links[i]; c.Others[0].Name != "F0" || 4*c.Shared < c.Total() || most.Link == c.Link && !strings.Contains(r.Verdict, " for F0") {
				t.Errorf("%s: %+v; %s", scheme, c, r.Verdict)
			}
		} else if most.Pausers[0].Name != "s0->h4" {
			t.Errorf("%s: %+v, want F0 at s0->h4", scheme, r.Links)
		}
	}
}

// COLL-14: Other collectives and programs are named as what they are.
func TestCollectiveNamesOtherCollectives(t *testing.T) {
	more := "  - {name: gather, kind: all-gather, algorithm: direct, ranks: h0..h7, size: 8MB}\nprograms:\n  r0: |\n    send 20MB to h4\n  h4: |\n    receive from r0\n"
	r := askCollective(t, parse(t, fmt.Sprintf(star, "pcn", "100Gbps", "", more)))
	var names []string
	for _, c := range r.Links {
		for _, o := range c.Others {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, []string{"gather", "programs"}) {
		t.Errorf("others: %v", names)
	}
}

// twoSwitches is a ring all-reduce across two switches. Two flows to r0 congest the egress of s1 to it.
const twoSwitches = `
name: victim
duration: 10ms
scheme: %s
nics: {h0..h7: , r0..r2: %s}
switches: {s0: , s1: }
links:
  - {endpoints: ["h0..h3, r1..r2", s0], rate: 100Gbps, delay: 1us}
  - {endpoints: ["h4..h7, r0", s1], rate: 100Gbps, delay: 1us}
  - {endpoints: [s0, s1], rate: 400Gbps, delay: 1us}
collectives:
  - {name: sum, kind: all-reduce, ranks: h0..h7, size: 8MB}
flows:
  - {name: F1, from: r1, to: r0, size: endless}
  - {name: F2, from: r2, to: r0, size: endless}
`

// COLL-15: With PAUSE the explanation names the paused link, and the egress whose congestion was the cause even
// if it is two switches away.
func TestCollectiveNamesThePausingEgress(t *testing.T) {
	r := askCollective(t, parse(t, fmt.Sprintf(twoSwitches, "pfc", "")))
	most := r.Links[0]
	if most.Link != "s0->s1" || most.Pausers[0].Name != "s1->r0" || 2*most.Paused < most.Total() {
		t.Errorf("%+v", most)
	}
	if want := " paused because of s1->r0"; !strings.Contains(r.Verdict, want) {
		t.Errorf("verdict %q, want %q", r.Verdict, want)
	}
	if i := slices.IndexFunc(r.Links, func(c LinkCost) bool { return c.Link == "h3->s0" }); i < 0 || r.Links[i].Pausers[0].Name != "s1->r0" {
		t.Errorf("%+v, want h3->s0 paused because of s1->r0", r.Links)
	}
	if r := askCollective(t, parse(t, fmt.Sprintf(twoSwitches, "irn", ""))); r.Links[0].Paused > 0 {
		t.Errorf("irn: %+v", r.Links[0])
	}
}

// COLL-15: A host that processes frames slowly is the cause of its pauses.
func TestCollectiveNamesTheSlowHost(t *testing.T) {
	text := fmt.Sprintf(star, "pfc", "100Gbps", "", "")
	text = strings.Replace(text, "h0..h7: ,", "h0..h2: , h3: {absorb: 20Gbps}, h4..h7: ,", 1)
	r := askCollective(t, parse(t, text))
	if most := r.Links[0]; most.Link != "s0->h3" || most.Pausers[0].Name != "h3" || most.Paused < most.Data {
		t.Errorf("%+v", r.Links)
	}
}

// Lost frames of a message are counted at the link that lost them, with the time of their recovery.
func TestCollectiveNamesTheLossyLink(t *testing.T) {
	text := fmt.Sprintf(star, "dcqcn", "100Gbps", ", loss: [0.01, 0]", "")
	for duration, want := range map[string]string{"30ms": "sum took ", "10ms": "sum is not done: "} {
		r := askCollective(t, parse(t, strings.Replace(text, "duration: 10ms", "duration: "+duration, 1)))
		most := r.Links[0]
		if most.Link != "h3->s0" || most.Lost == 0 || 2*most.Recovery < most.Total() {
			t.Errorf("%+v", r.Links)
		}
		if end := "to recover " + unit.Counted(most.Lost, "lost frame"); most.Trimmed > 0 || !strings.HasPrefix(r.Verdict, want) || !strings.HasSuffix(r.Verdict, end) {
			t.Errorf("verdict %q, want %q and %q", r.Verdict, want, end)
		}
	}
}

// Frames that a switch trimmed are not lost.
func TestCollectiveCountsTrimmedFrames(t *testing.T) {
	text, err := os.ReadFile("../../examples/rail.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, string(text))
	s.Scheme, s.Collectives[0].Name = "nscc", "sum"
	r := askCollective(t, s)
	most := r.Links[0]
	if end := "to recover " + unit.Counted(most.Trimmed, "trimmed frame"); most.Lost > 0 || most.Trimmed == 0 || !strings.HasSuffix(r.Verdict, end) {
		t.Errorf("verdict %q, want %q; %+v", r.Verdict, end, r.Links)
	}
	both := LinkTime{Lost: 1, Trimmed: 2}
	if got, want := both.missing(), "1 lost frame and 2 trimmed frames"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A rank that begins late is reported with the path that begins there.
func TestCollectiveOfALateRank(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(star, "pcn", "100Gbps", "", "programs:\n  h5: |\n    work: calc 3ms\n"), "size: 2MB", "size: 2MB, after: [work]", 1)
	r := askCollective(t, parse(t, text))
	if r.Late != 3*unit.Millisecond || r.Path[0].FromHost != "h5" || len(r.Path) != 14 {
		t.Errorf("%d messages after %s: %+v", len(r.Path), r.Late, r.Path[:min(1, len(r.Path))])
	}
	if want := ": rank 5 (h5) began 3ms after the first rank"; !strings.HasSuffix(r.Verdict, want) {
		t.Errorf("verdict %q, want %q", r.Verdict, want)
	}
}

// A collective without data is explained by delays.
func TestCollectiveOfDelays(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(star, "pcn", "100Gbps", "", ""), "kind: all-reduce, ranks: h0..h7, size: 2MB", "kind: barrier, ranks: h0..h7", 1)
	if r := askCollective(t, parse(t, text)); !strings.Contains(r.Verdict, "delays took the most") || r.Delays < r.Time/2 {
		t.Errorf("%s: %s of %s", r.Verdict, r.Delays, r.Time)
	}
}

// A collective that does not end is explained as far as it came, with the steps that wait.
func TestCollectiveThatDoesNotEnd(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(star, "pcn", "100Gbps", "", ""), "duration: 10ms", "duration: 100us", 1)
	r := askCollective(t, parse(t, text))
	if r.Finished() || len(r.Waiting) == 0 || len(r.Path) == 0 || !strings.HasPrefix(r.Verdict, "sum is not done: ") {
		t.Errorf("%+v", r)
	}
	r = askCollective(t, parse(t, strings.Replace(text, "size: 2MB", "size: 2MB, after: [work]", 1)+"programs:\n  h0..h7: |\n    work: calc 1ms\n"))
	if len(r.Path) > 0 || r.Verdict != "sum is not done: 0 of 224 steps" {
		t.Errorf("%+v", r)
	}
}

func TestCollectiveUnknown(t *testing.T) {
	s := parse(t, fmt.Sprintf(star, "pcn", "100Gbps", "", ""))
	if _, err := AskCollective(s, "swap", nil); err == nil || err.Error() != `unknown collective "swap", want one of [sum]` {
		t.Error(err)
	}
	if _, err := AskCollective(parse(t, lossText), "sum", nil); err == nil || err.Error() != `unknown collective "sum": scenario loss has no collectives` {
		t.Error(err)
	}
	if r, err := AskCollective(s, "sum", func() bool { return false }); r != nil || err != nil {
		t.Error(r, err)
	}
}

// The observation changes neither the events of a run nor its digest, and each explanation is the same.
func TestCollectiveObservationChangesNothing(t *testing.T) {
	s := parse(t, fmt.Sprintf(twoSwitches, "pfc", ""))
	plain, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	r := askCollective(t, s)
	path := messagePath{{trace: 1, begin: 0, end: s.Duration}}
	observeMessages(l, s, 0, path, make([]PathMessage, 1))
	l.Run(s.Duration)
	observed, err := l.Outcome()
	if err != nil || observed.Digest != plain.Digest {
		t.Errorf("digest %s with taps, %s without; %v", observed.Digest, plain.Digest, err)
	}
	if r.Collective != plain.Collectives[0] {
		t.Errorf("%+v, in the results %+v", r.Collective, plain.Collectives[0])
	}
	again, err := json.Marshal(askCollective(t, s))
	if first, _ := json.Marshal(r); err != nil || !bytes.Equal(first, again) {
		t.Errorf("%s\n%s\n%v", first, again, err)
	}
}

// The text has the longest messages in the order of the path.
func TestCollectiveTextIsShort(t *testing.T) {
	r := askCollective(t, parse(t, strings.Replace(fmt.Sprintf(star, "pcn", "10Gbps", "", ""), "size: 2MB", "size: 2MB, chunks: 8", 1)))
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(b.String(), "2. The critical path")
	if n := strings.Count(rows, " -> "); n != min(len(r.Path), maxMessages) || len(r.Path) <= maxMessages != !strings.Contains(rows, "that took less time") {
		t.Errorf("%d rows of %d messages:\n%s", n, len(r.Path), rows)
	}
	for row := range strings.Lines(rows) {
		if n := len(strings.TrimRight(row, "\n")); n > 80 || strings.Contains(row, "paused") {
			t.Errorf("%d characters, or a column without a time: %s", n, row)
		}
	}
	shown := longest(r.Path)
	for i := 1; i < len(shown); i++ {
		if shown[i].Begin <= shown[i-1].Begin {
			t.Errorf("%+v after %+v", shown[i], shown[i-1])
		}
	}
}

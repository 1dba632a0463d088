package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// paper is the 16-to-2 rack, run for 2 ms.
func paper(t *testing.T, scheme string) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	return parse(t, string(text), topology.Setting{Key: "scheme", Value: scheme}, topology.Setting{Key: "duration", Value: "2ms"})
}

func parse(t *testing.T, text string, set ...topology.Setting) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.ParseWith("test", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask returns the report for the data class over the whole run, and checks its
// consistency.
func ask(t *testing.T, s *topology.Scenario, link string) *Report {
	t.Helper()
	q := Question{Class: topology.DataClass, To: s.Duration}
	var err error
	if q.X, q.Y, q.Link, err = Link(s, link); err != nil {
		t.Fatal(err)
	}
	r, err := Ask(s, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	var paused unit.Time
	var most unit.Bytes
	for _, b := range r.Timeline {
		paused, most = paused+b.Paused, max(most, b.Occupancy)
	}
	if len(r.Timeline) > 0 && (paused != r.Paused || most != r.Peak.Occupancy) {
		t.Errorf("%s: paused %s, in the bins %s; peak %s, in the bins %s", link, r.Paused, paused, r.Peak.Occupancy, most)
	}
	var named unit.Bytes
	for _, h := range r.Peak.Flows {
		named += h.Bytes
	}
	if len(r.Timeline) > 0 && (named > r.Peak.Occupancy || named*100 < r.Peak.Occupancy*98) {
		t.Errorf("%s: the flows at the peak occupy %s of %s", link, named, r.Peak.Occupancy)
	}
	frames := 0
	for _, p := range r.Pauses {
		frames += p.Frames
	}
	if len(r.Timeline) > 0 && frames != r.Frames {
		t.Errorf("%s: %d frames, in the pauses %d", link, r.Frames, frames)
	}
	return r
}

// measured returns the PAUSE frames and the paused time of a link from the results of a
// run.
func measured(t *testing.T, s *topology.Scenario, link string) (int, unit.Time) {
	t.Helper()
	run, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range run.Pauses {
		if p.Link == link {
			return int(p.XOFF), p.Paused
		}
	}
	return 0, 0
}

// With PFC alone the congestion of r1 spreads to s0 by F1's frames in the buffer of s1,
// and to h0 by those of F0 in the buffer of s0: F0 is the victim.
func TestPFCReport(t *testing.T) {
	s := paper(t, "pfc")
	for _, c := range []struct {
		link, chain, victims, spread, filled string
	}{
		{"s1->s0", "s1->s0 overload r1", "F0", "s0->h0 s0->h1", "F1>r1"},
		{"s0->h0", "s0->h0 paused s1, s1->s0 overload r1", "F0", "", "F0>s1"},
		{"s0->h1", "s0->h1 paused s1, s1->s0 overload r1", "", "", "F1>s1"},
	} {
		r := ask(t, s, c.link)
		var chain, victims, spread []string
		for _, step := range r.Chain {
			chain = append(chain, step.Link+" "+string(step.Cause.Kind)+" "+step.Cause.Egress)
		}
		for _, v := range r.Victims {
			victims = append(victims, v.Flow)
		}
		for _, l := range r.Spread {
			spread = append(spread, l.Link)
		}
		got := []string{strings.Join(chain, ", "), strings.Join(victims, " "), strings.Join(spread, " "), r.Pauses[0].Flows[0].Flow + ">" + r.Pauses[0].Flows[0].Egress}
		if d := cmp.Diff([]string{c.chain, c.victims, c.spread, c.filled}, got); d != "" {
			t.Errorf("%s: %s", c.link, d)
		}
		if frames, paused := measured(t, s, c.link); frames != r.Frames || paused != r.Paused || frames == 0 {
			t.Errorf("%s: %d frames, paused %s; the run has %d and %s", c.link, r.Frames, r.Paused, frames, paused)
		}
		if first := r.Pauses[0]; first.Margin() >= 0 || r.Limits.Threshold != 200*unit.Kilobyte || r.Limits.Dynamic || first.Cause.Load < first.Cause.Rate && first.Cause.Kind == Overload {
			t.Errorf("%s: limits %+v, first PAUSE %+v", c.link, r.Limits, first)
		}
	}
}

// PCN throttles F1 before its frames reach the threshold: there is no PAUSE, and the
// report states the margin.
func TestPCNReport(t *testing.T) {
	s := paper(t, "pcn")
	r := ask(t, s, "s1->s0")
	if r.Frames != 0 || r.Paused != 0 || len(r.Chain) != 0 || r.Closest.Margin() <= 0 || r.Peak.Flows[0].Flow != "F1" {
		t.Errorf("%+v", r)
	}
	if want := "no PAUSE: frames from s0 occupied at most " + r.Peak.Occupancy.String(); !strings.HasPrefix(r.Verdict, want) {
		t.Errorf("%q", r.Verdict)
	}
	if len(r.Rates) != 2 || r.Rates[1].Flow != "F1" || r.Rates[1].Least > 3*unit.GigabitPerSec || r.Rates[1].First < 19*unit.GigabitPerSec {
		t.Errorf("rates %+v", r.Rates)
	}
}

// A range includes only the parts of pauses within it.
func TestPausesAreClippedToTheRange(t *testing.T) {
	s := paper(t, "pfc")
	x, y, link, err := Link(s, "s1->s0")
	if err != nil {
		t.Fatal(err)
	}
	frames, paused := 0, unit.Time(0)
	for _, cut := range [][2]unit.Time{{0, unit.Millisecond}, {unit.Millisecond, 1200 * unit.Microsecond}, {1200 * unit.Microsecond, 2 * unit.Millisecond}} {
		r, err := Ask(s, Question{X: x, Y: y, Link: link, Class: topology.DataClass, From: cut[0], To: cut[1]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		frames, paused = frames+r.Frames, paused+r.Paused
	}
	if all := ask(t, s, "s1->s0"); frames != all.Frames || paused != all.Paused {
		t.Errorf("%d frames, paused %s in parts; %d and %s in total", frames, paused, all.Frames, all.Paused)
	}
}

const slow = `
name: slow
duration: 500us
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {xoff: 0KB, buffer: 600KB, headroom: 30KB}}
nics: {h0: , h1: , r0: {absorb: 10Gbps}}
switches: {s0: }
links: [{endpoints: ["h0..h1, r0", s0]}]
commands: [{name: W, verb: put, from: h0, to: r0, size: 64KB, count: 20}]
`

// A slow host ends a chain. A dynamic threshold is reported as dynamic.
func TestSlowHost(t *testing.T) {
	s := parse(t, slow)
	r := ask(t, s, "s0->h0")
	if len(r.Chain) != 2 || r.Chain[0].Cause.Kind != Downstream || r.Chain[1].Link != "r0->s0" || r.Chain[1].Cause.Kind != SlowHost || r.Chain[1].Frames == 0 {
		t.Errorf("chain %+v", r.Chain)
	}
	if !r.Limits.Dynamic || r.Limits.Alpha <= 0 || r.Limits.Threshold <= 0 || r.Peak.Flows[0].Flow != "h0=>r0" {
		t.Errorf("limits %+v, peak %+v", r.Limits, r.Peak)
	}
	host := ask(t, s, "r0->s0")
	if len(r.Victims) > 0 {
		t.Errorf("victims %+v, and all of it goes to r0", r.Victims)
	}
	if f := r.First; f.Node != "r0" || f.Egress != "" || f.Rate != 10*unit.GigabitPerSec || f.Arrived < 30*unit.GigabitPerSec || f.Sources[0].Name != "h0=>r0" {
		t.Errorf("first cause %+v", f)
	}
	if host.Frames == 0 || host.Limits.Threshold == 0 || host.Peak.Occupancy <= host.Limits.Threshold || !strings.Contains(host.Verdict, "r0 processes frames more slowly") {
		t.Errorf("%+v", host)
	}
}

// The report says so if PAUSE is impossible.
func TestNeverPause(t *testing.T) {
	s := paper(t, "pfc")
	if r := ask(t, s, "r1->s1"); !strings.Contains(r.Verdict, "never sends PAUSE") {
		t.Errorf("%q", r.Verdict)
	}
	x, y, link, _ := Link(s, "s1->s0")
	r, err := Ask(s, Question{X: x, Y: y, Link: link, Class: topology.ControlClass, To: unit.Millisecond}, nil)
	if err != nil || !strings.Contains(r.Verdict, "class 6 is not lossless at s1") {
		t.Errorf("%v %v", r, err)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil || strings.Contains(text.String(), "threshold  ") {
		t.Errorf("%s %v", text.String(), err)
	}
}

// The report names the scheme of its range, whatever the initial scheme.
func TestSchemeOfTheRange(t *testing.T) {
	s := parse(t, slow+"live: true\nchanges: [{at: 100us, scheme: {name: pcn}}]\n")
	x, y, link, err := Link(s, "s0->h0")
	if err != nil {
		t.Fatal(err)
	}
	const at = 100 * unit.Microsecond
	for cut, want := range map[[2]unit.Time]string{{0, at}: "pfc", {0, at + 1}: "pfc, then pcn", {at, 2 * at}: "pcn", {2 * at, 3 * at}: "pcn"} {
		r, err := Ask(s, Question{X: x, Y: y, Link: link, Class: topology.DataClass, From: cut[0], To: cut[1]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Scheme != want {
			t.Errorf("from %s to %s under %s, want %s", cut[0], cut[1], r.Scheme, want)
		}
	}
}

func TestInvalidLinksAndRanges(t *testing.T) {
	s := paper(t, "pfc")
	for link, want := range map[string]string{
		"s1-s0": "must be X->Y", "s1->x": `unknown node "x"`, "s1->h0": "s1 and h0 are not neighbours",
	} {
		if _, _, _, err := Link(s, link); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", link, err)
		}
	}
	for _, q := range []Question{{From: 2, To: 1}, {From: -1, To: 1}, {From: s.Duration, To: s.Duration + 1}} {
		if _, err := Ask(s, q, nil); err == nil || !strings.Contains(err.Error(), "the end of the run at 2ms") {
			t.Errorf("%v: %v", q, err)
		}
	}
	if r, err := Ask(s, Question{X: 19, Y: 18, Link: s.LinkNamed("s0--s1"), To: s.Duration}, func() bool { return false }); r != nil || err != nil {
		t.Errorf("stopped: %v %v", r, err)
	}
}

// The text contains the verdict, the limits, the bins and the chain.
func TestText(t *testing.T) {
	var b strings.Builder
	if err := ask(t, paper(t, "pfc"), "s0->h0").Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"PAUSE on s0->h0, class 3, from 0ps to 2ms, of pcn-16to2 under pfc\n\ns0 sent ", ": the egress queue of s1 to r1 grew to ",
		"1. First cause: the egress queue of s1 to r1\n  From ", "   560.0 Gbit/s  burst, 224 flows from 14 NICs\n    20.1 Gbit/s  F1, from h1\n",
		"2. How PAUSE spread to s0->h0\n     399.8us  s1 paused s0: frames from s0 occupied 205KB of its buffer, all of it in the queue to r1 (3.55MB)\n     486.5us  s0 paused h0: ",
		" by downstream PAUSE: s1 had paused s0\n", " by a standing queue: ", "arrived at 5.1 Gbit/s and left at 2.5 Gbit/s\n",
		"4. Victim flows: paused although they do not pass the egress queue of s1 to r1\n  F0 from h0 to r0: paused ",
		"    goodput 2.", "threshold  200KB (static)", "shared, | threshold", "\neach PAUSE, ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Rows of tables have at most 80 characters, however many flows are in the buffer.
func TestRowsOfPausesAreNarrow(t *testing.T) {
	r := Report{Link: "s1->s0", Timeline: []Bin{{}}, Pauses: []Pause{{
		State: State{At: 399_800_000, Flows: []Holding{{Flow: "burst", Bytes: 205 * unit.Kilobyte, Egress: "r1"}, {Flow: "F1", Bytes: 15 * unit.Kilobyte, Egress: "r1"}}},
		Until: 487_600_000, Arrived: 580_100_000_000, Left: 40_000_000_000, Cause: Cause{Kind: "overload", Queue: 3550 * unit.Kilobyte},
	}}}
	var b strings.Builder
	r.pauses(&b)
	_, rows, _ := strings.Cut(strings.TrimLeft(b.String(), "\n"), "\n")
	want := "     from     until  arrived   left    queue  cause     in the buffer\n" +
		"  399.8us   487.6us    580.1   40.0   3.55MB  overload  burst 205KB to r1,\n" + strings.Repeat(" ", 56) + "F1 15KB to r1\n"
	if rows != want {
		t.Errorf("%s\nwant\n%s", rows, want)
	}
}

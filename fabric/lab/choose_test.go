package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// An incast changes to another scheme. Signals of the new scheme start at that instant,
// rates continue from their current values, and later flows use the scheme too.
func TestFlowsChangeTheirScheme(t *testing.T) {
	const at = 600 * unit.Microsecond
	for _, c := range []struct{ from, to string }{
		{"dcqcn", "pcn"}, {"pcn", "dcqcn"}, {"pfc", "pcn"}, {"pcn", "qcn"}, {"qcn", "timely"}, {"timely", "timely-ecn"}, {"timely-ecn", "pfc"},
	} {
		s, err := scenariofile.Parse("incast.yaml", []byte(`name: incast
duration: 2ms
live: true
scheme: `+c.from+`
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {xoff: 20KB}}
nics: {h0..h7: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h7, r0", s0]}]
bursts: [{name: b, from: h0..h7, to: r0, size: endless, at: 0us}]
changes:
  - {at: 600us, scheme: {name: `+c.to+`, flows: h*->r0}}
  - {at: 1ms, burst: {name: later, from: h0, to: r0, size: 100KB}}
`))
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t, s)
		l.PerFrame = true
		counts := [2]map[string]int{{}, {}} // before and after, a round trip left out
		unfit, done := 0, 0
		l.Listen = func(_ int, notes []fabric.Note) {
			for _, n := range notes {
				half := 0
				if n.At >= at {
					half = 1
				}
				switch {
				case n.Kind == fabric.Inapplicable:
					unfit++
				case n.Kind == fabric.Completed:
					done++
				case n.Kind == fabric.RateChanged && n.At == at:
					counts[1]["jump"]++
				case n.At >= at && n.At < at+50*unit.Microsecond:
				case n.Kind == fabric.Notified && n.RecRate() > 0:
					counts[half]["pcn"]++
				case n.Kind == fabric.Notified:
					counts[half]["dcqcn"]++
				case n.Kind == fabric.CNMIn:
					counts[half]["qcn"]++
				case n.Kind == fabric.Measured:
					counts[half]["timely"]++
				}
			}
		}
		l.Run(s.Duration)
		signals := map[string][]string{"pfc": nil, "pcn": {"pcn"}, "dcqcn": {"dcqcn"}, "qcn": {"qcn"}, "timely": {"timely"}, "timely-ecn": {"timely", "dcqcn"}}
		for half, name := range []string{c.from, c.to} {
			for _, signal := range []string{"pcn", "dcqcn", "qcn", "timely"} {
				want := false
				for _, one := range signals[name] {
					want = want || one == signal
				}
				if got := counts[half][signal] > 0; got != want {
					t.Errorf("%s to %s: under %s %d signals of %s", c.from, c.to, name, counts[half][signal], signal)
				}
			}
		}
		if jump := counts[1]["jump"] > 0; unfit > 0 || jump != (c.to == "pfc") {
			t.Errorf("%s to %s: %d invalid changes, %d rate jumps", c.from, c.to, unfit, counts[1]["jump"])
		}
		if done == 0 {
			t.Errorf("%s to %s: the later flow is not complete", c.from, c.to)
		}
	}
}

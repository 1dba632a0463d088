package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// permutation returns 128 hosts on one switch. Each sends to one host and receives from
// another, at the rate of its link, so that no queue builds up.
func permutation(t testing.TB) *topology.Scenario {
	t.Helper()
	const hosts, shift = 128, 37
	var text strings.Builder
	text.WriteString(`name: permutation
duration: 100us
scheme: pcn
defaults: {link: {rate: 100Gbps, delay: 1us}}
nics: {h0..h127: }
switches: {s0: }
links: [{endpoints: [h0..h127, s0]}]
flows:
`)
	for i := range hosts {
		fmt.Fprintf(&text, "  - {name: F%d, from: h%d, to: h%d, size: endless}\n", i, i, (i+shift)%hosts)
	}
	s, err := scenariofile.Parse("permutation", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// All hosts of the permutation fill their links, but for headers and the first round-trip.
func TestPermutationFillsAllLinks(t *testing.T) {
	run := measured(t, permutation(t))
	for i := range run.Flows {
		if f := &run.Flows[i]; f.Goodput < 85*unit.GigabitPerSec {
			t.Errorf("%s gets %v", f.Name, f.Goodput)
		}
	}
	if run.Drops != 0 || len(run.Flows) != 128 {
		t.Errorf("%d flows, %d drops", len(run.Flows), run.Drops)
	}
}

// BenchmarkPermutation runs a permutation of 128 hosts; it reports frame-hops per second.
func BenchmarkPermutation(b *testing.B) {
	hops := int64(0)
	for b.Loop() {
		s := permutation(b)
		l, err := lab.New(s)
		if err != nil {
			b.Fatal(err)
		}
		l.Run(s.Duration)
		hops += l.FrameHops()
	}
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
}

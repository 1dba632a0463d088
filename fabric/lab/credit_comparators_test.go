package lab_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// CBRC-33: unfair bandwidth. h0 to h2 come to r0's switch by one link and h3 by
// another: PFC, which shares a port by ingress, gives h3 half of r0's link and the
// others a sixth. Credit gives each a quarter.
func TestCreditIsFairAcrossIngressPorts(t *testing.T) {
	for scheme, want := range map[string][4]float64{"pfc": {1. / 6, 1. / 6, 1. / 6, 1. / 2}, "cbrc": {1. / 4, 1. / 4, 1. / 4, 1. / 4}} {
		s, err := scenariofile.Parse("parking", []byte(`
name: parking
duration: 4ms
scheme: `+scheme+`
defaults:
  link: {rate: 40Gbps, delay: 1us}
  switch: {arbitration: ingress}
nics: {h0..h3: , r0: }
switches: {x0..x1: }
links:
  - endpoints: [h0..h2, x0]
  - endpoints: ["x0, h3, r0", x1]
schemes:
  cbrc: {base_rtt: 7us}
flows:
  - {name: F0, from: h0, to: r0, size: endless}
  - {name: F1, from: h1, to: r0, size: endless}
  - {name: F2, from: h2, to: r0, size: endless}
  - {name: F3, from: h3, to: r0, size: endless}
`))
		if err != nil {
			t.Fatal(err)
		}
		shares := sharesOf(measured(t, s), 4)
		for i, want := range want {
			if got := shares[i]; got < want-0.02 || got > want+0.02 {
				t.Errorf("%s: shares %.3f, want F%d at %.3f", scheme, shares, i, want)
			}
		}
	}
}

// sharesOf returns the shares of flows F0, F1, ... in their total goodput in the second
// half of the run.
func sharesOf(run *measure.Run, flows int) []float64 {
	shares, sum := make([]float64, flows), 0.0
	for _, g := range run.Series.Goodput {
		for i := range shares {
			if g.Name == fmt.Sprintf("F%d", i) {
				for _, b := range g.Bins[len(g.Bins)/2:] {
					shares[i] += float64(b)
					sum += float64(b)
				}
			}
		}
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// CBRC-33: flow collisions. Four hosts send over four equal paths; flows that share a
// path have a part of what the others have, under a scheme that is driven by queues
// as under credit: neither moves a flow.
func TestFlowsCollideUnderEveryScheme(t *testing.T) {
	for _, scheme := range []string{"dcqcn", "cbrc"} {
		s, err := scenariofile.Parse("collide", []byte(`
name: collide
duration: 4ms
scheme: `+scheme+`
defaults:
  link: {rate: 40Gbps, delay: 1us}
nics: {h0..h3: , r0..r3: }
switches: {l0..l1: , p0..p3: }
links:
  - endpoints: [h0..h3, l0]
  - endpoints: [r0..r3, l1]
  - endpoints: [l0, p0..p3]
  - endpoints: [p0..p3, l1]
schemes:
  cbrc: {base_rtt: 9us}
flows:
  - {name: F0, from: h0, to: r0, size: endless}
  - {name: F1, from: h1, to: r1, size: endless}
  - {name: F2, from: h2, to: r2, size: endless}
  - {name: F3, from: h3, to: r3, size: endless}
`))
		if err != nil {
			t.Fatal(err)
		}
		shares := sharesOf(measured(t, s), 4)
		if least, most := slices.Min(shares), slices.Max(shares); least > 0.6*most {
			t.Errorf("%s: shares %.3f, want those of a shared path well below the others", scheme, shares)
		}
	}
}

// CBRC-33: 15 senders to one receiver. Schemes that are driven by the switch's
// queue need that queue, and delay everything behind it; credit does without one.
func TestCreditNeedsNoStandingQueue(t *testing.T) {
	queued := map[string]int64{}
	for _, scheme := range []string{"pfc", "dcqcn", "cbrc"} {
		s := incast(t, 15, "asked")
		s.Scheme = scheme
		run := measured(t, s)
		from := int(4 * unit.Millisecond / run.Series.Bin)
		for _, q := range run.Series.Queues {
			if q.Port == "x->r0" {
				queued[scheme] = slices.Max(q.Peak[from:])
			}
		}
	}
	t.Logf("bytes queued at the last hop from 4 ms on: %v", queued)
	if queued["cbrc"]*2 > queued["dcqcn"] || queued["dcqcn"] >= queued["pfc"] {
		t.Errorf("bytes queued at the last hop %v, want cbrc far below dcqcn, and dcqcn below pfc", queued)
	}
}

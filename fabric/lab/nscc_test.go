package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// NSCC-11: endless flows of N equal senders into one link with trimming. Quick adapt fires from N = 10
// on: it makes a difference to the run. Up to N = 9 it makes none.
func TestQuickAdaptFiresFromTenSendersOn(t *testing.T) {
	for _, delay := range []string{"2us", "3us"} {
		for senders := 8; senders <= 12; senders++ {
			with, without := equalSenders(t, senders, delay, true), equalSenders(t, senders, delay, false)
			differ := digest(t, newLab(t, with)) != digest(t, newLab(t, without))
			if want := senders >= 10; differ != want {
				t.Errorf("%d senders, links of %s: quick adapt makes a difference: %t, want %t", senders, delay, differ, want)
			}
		}
	}
}

// each returns one line of that format per number below n.
func each(n int, format string) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, format, i)
	}
	return lines.String()
}

// equalSenders returns endless flows of that many senders to one receiver, over the first periods of
// quick adapt.
func equalSenders(t *testing.T, senders int, delay string, quickAdapt bool) *topology.Scenario {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `name: equal-senders
duration: 45us
scheme: nscc
schemes: {nscc: {quick_adapt: %t}}
defaults: {link: {rate: 100Gbps, delay: %s, mtu: 4300B}, nic: {payload: 4096B}}
nics: {h0..h%d: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h%d, r0", s0]}]
flows:
`, quickAdapt, delay, senders-1, senders-1)
	text.WriteString(each(senders, "  - {name: F%d, from: h%[1]d, to: r0, size: endless}\n"))
	s, err := scenariofile.Parse("equal-senders.yaml", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NSCC-24: three of eight senders are near the receiver. All have the base RTT of the rack's longest path,
// so that the near ones see less delay at the same queue, and end first.
func TestNearSendersEndFirst(t *testing.T) {
	s, err := scenariofile.Parse("near-and-far.yaml", []byte(`name: near-and-far
duration: 2ms
scheme: nscc
defaults: {link: {rate: 100Gbps, delay: 1us, mtu: 4300B}, nic: {payload: 4096B}}
nics: {h0..h7: , r0: }
switches: {s0: , s1: , s2: }
links:
  - {endpoints: ["h0..h2, r0", s0]}
  - {endpoints: [h3..h7, s1]}
  - {endpoints: [s0, s2], rate: 800Gbps}
  - {endpoints: [s1, s2], rate: 800Gbps}
flows:
`+each(8, "  - {name: F%d, from: h%[1]d, to: r0, size: 2MB}\n")))
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, s)
	l.Run(s.Duration)
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	var near, far unit.Time // sums
	for i, f := range run.Flows {
		if i < 3 {
			near += f.End
		} else {
			far += f.End
		}
	}
	if near/3 >= far/5 {
		t.Errorf("near senders end after %s on average, far ones after %s: want the near ones first", near/3, far/5)
	}
}

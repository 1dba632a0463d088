package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
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
	for i := range senders {
		fmt.Fprintf(&text, "  - {name: F%d, from: h%d, to: r0, size: endless}\n", i, i)
	}
	s, err := scenariofile.Parse("equal-senders.yaml", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

package rack

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The window of CETH is the longest base RTT of the data that a NIC sends: of its flows, of the
// PUTs that it posts, and of the responses to GETs.
func TestBaseRTTOfFlowsAndCommands(t *testing.T) {
	const rack = `name: two-distances
duration: 1ms
scheme: ceth
defaults: {link: {rate: 100Gbps, delay: 1us}}
nics: {h0..h2: }
switches: {s0..s1: }
links: [{endpoints: [h0..h1, s0]}, {endpoints: [s0, s1], delay: 10us}, {endpoints: [h2, s1]}]
`
	window := func(more string) (of [3]unit.Time) {
		s, err := scenariofile.Parse("f", []byte(rack+more))
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		for node := range of {
			of[node] = r.nicConfig(node).CC.CETH.Window
		}
		return of
	}
	flows := "flows: [{name: F, from: h0, to: h1, size: 1KB}, {name: G, from: h2, to: h0, size: 1KB}]\n"
	of := window(flows)
	near, far := of[0], of[2]
	if near < 4*unit.Microsecond || far < near+20*unit.Microsecond || of[1] != 0 {
		t.Fatalf("flows: %v", of)
	}
	const commands = "commands: [{name: C, verb: VERB, from: h0, to: h2, size: 1KB}]\n"
	for _, verb := range []string{"put", "get"} {
		posted := strings.Replace(commands, "VERB", verb, 1)
		if got := window(posted); got != [3]unit.Time{far, 0, far} {
			t.Errorf("%s: %v, want %v at h0 and h2", verb, got, far)
		}
		if got := window(flows + posted); got != [3]unit.Time{far, 0, far} {
			t.Errorf("flows and %s: %v, want %v at h0 and h2", verb, got, far)
		}
	}
}

// A scenario that was valid under another scheme may have too many flows for UET.
func TestNewRefusesFlowsWithoutAContext(t *testing.T) {
	s, err := scenariofile.Parse("f", []byte("name: x\nduration: 1ms\nscheme: pcn\nnics: {h0..h1: }\nlinks: [{endpoints: [h0, h1], rate: 40Gbps, delay: 1us}]\n"+
		"bursts: [{name: B, from: h0, to: h1, flows_per_sender: 65536, size: 1KB, at: 0s}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(s); err != nil {
		t.Errorf("under pcn: %v", err)
	}
	if _, err := New(scenariofile.Under(s, "nscc")); err == nil || !strings.HasPrefix(err.Error(), "65536 flows, ") {
		t.Errorf("under nscc: %v", err)
	}
}

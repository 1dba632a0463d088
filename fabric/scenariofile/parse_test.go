package scenariofile

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func TestNodesKeepFileOrderAndHostsCountNICs(t *testing.T) {
	s := parsed(t, sample)
	var got []string
	for _, n := range s.Nodes {
		got = append(got, fmt.Sprintf("%s %s %d", n.Name, n.Kind, n.Host))
	}
	want := []string{"h0 nic 0", "h1 nic 1", "h2 nic 2", "h3 nic 3", "r0 nic 4", "s0 switch -1", "s1 switch -1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestPortsAreNumberedInTheOrderOfLinks(t *testing.T) {
	s := parsed(t, sample)
	last := s.Links[len(s.Links)-1]
	if s.Links[3].BPort != 3 || s.Links[4].APort != 4 || s.Links[4].BPort != 0 || last.BPort != 1 {
		t.Errorf("got %+v", s.Links)
	}
	if s.Links[4].Rate != 100*unit.GigabitPerSec || last.Rate != 40*unit.GigabitPerSec {
		t.Errorf("a link's own rate did not override the default: %+v", s.Links)
	}
}

func TestBurstsExpandIntoNamedFlowsAfterTheSingleOnes(t *testing.T) {
	s := parsed(t, edited(t, "at: 100us", "at: 100us, flows_per_sender: 2"))
	var names []string
	for _, f := range s.Flows {
		names = append(names, f.Name)
	}
	want := []string{"F0", "burst/h1/0", "burst/h1/1", "burst/h2/0", "burst/h2/1", "burst/h3/0", "burst/h3/1"}
	if !slices.Equal(names, want) || s.Flows[0].Burst != -1 || s.Bursts[0].Flows != 6 {
		t.Errorf("got %v and %+v", names, s.Bursts)
	}
	if f := s.Flows[1]; f.Burst != 0 || f.Start != 100*unit.Microsecond || f.Size != 64*unit.Kilobyte {
		t.Errorf("got %+v", f)
	}
}

func TestMoreSpecificKeysOverride(t *testing.T) {
	s := parsed(t, edited(t, "  r0:\n", "  r0:\n  h2: {ack_every: 4}\n"))
	if h := s.Nodes[2].NIC; h.AckEvery != 4 || h.Payload != 1000 {
		t.Errorf("h2 has %+v", h)
	}
	if s.Nodes[1].NIC.AckEvery != 1 || len(s.Nodes) != 7 {
		t.Error("the override of h2 reached beyond it")
	}
}

func TestFileDefaultsApplyToAllNodes(t *testing.T) {
	s := parsed(t, edited(t, "defaults:\n", "defaults:\n  nic: {timeout: 0}\n  switch: {lossless: [3, 4], marking: {4: red}}\n"))
	for _, n := range s.Nodes {
		if n.Kind == topology.NIC && n.NIC.Timeout != 0 {
			t.Errorf("%s has a timer", n.Name)
		}
		if n.Kind == topology.Switch && (!slices.Equal(n.Switch.Lossless, []fabric.Priority{3, 4}) || n.Switch.Marking[4] != cc.MarkRED) {
			t.Errorf("%s has %+v", n.Name, n.Switch)
		}
	}
}

func TestOmittedKeysUseDocumentedDefaults(t *testing.T) {
	s := parsed(t, "name: a\nduration: 1ms\nnics: {h0: , h1: }\nlinks: [{endpoints: [h0, h1], rate: 1Gbps, delay: 1us}]\n")
	want := topology.DefaultScenario()
	if s.Seed != want.Seed || s.Bin != want.Bin || s.Scheme != want.Scheme || s.CC != want.CC || !reflect.DeepEqual(s.Nodes[0].NIC, topology.DefaultNIC()) {
		t.Errorf("got %+v", s)
	}
	if l := topology.DefaultLink(); s.Links[0].MTU != l.MTU || s.Links[0].Overhead != l.Overhead {
		t.Errorf("got %+v", s.Links[0])
	}
}

func TestDefaultFrameFitsDefaultMTU(t *testing.T) {
	// 14 Ethernet + 20 IPv4 + 8 UDP + 12 BTH + 16 RETH + 1000 + 4 ICRC + 4 FCS
	if got := topology.DataFrame(topology.DefaultNIC().Payload); got != 1086 || got > topology.DefaultLink().MTU {
		t.Errorf("the frame has %d bytes", got)
	}
	if got := topology.DataFrame(1001); got != 1090 {
		t.Errorf("1001 bytes are not padded to words: %d", got)
	}
}

func TestHeadroomCoversTheMostDemandingLink(t *testing.T) {
	s := parsed(t, sample)
	// Facts §6.2: three times the one-way bandwidth-delay product; 100 Gbit/s x
	// 5 us are 62500 bytes, 40 Gbit/s x 5 us are 25000.
	if got := s.Nodes[5].Switch.Headroom; got != 187500 {
		t.Errorf("s0 has %d", got)
	}
	short := topology.Link{Rate: 40 * unit.GigabitPerSec, Delay: 100 * unit.Nanosecond, MTU: 1518}
	if got := topology.DefaultHeadroom([]topology.Link{short}); got != topology.NeededHeadroom(short) {
		t.Errorf("a short link gets %d, less than it needs", got)
	}
}

// The reference implementation counts, frame by frame, the bytes that a line-rate
// peer sends into the headroom in the worst case.
func TestNeededHeadroomCoversTheWorstCase(t *testing.T) {
	for _, l := range []topology.Link{
		{Rate: 40 * unit.GigabitPerSec, Delay: 5 * unit.Microsecond, MTU: 1518},
		{Rate: 100 * unit.GigabitPerSec, Delay: unit.Microsecond, MTU: 9216},
		{Rate: unit.GigabitPerSec, Delay: unit.Nanosecond, MTU: 128},
		{Rate: 40 * unit.GigabitPerSec, Delay: 5 * unit.Microsecond, MTU: 64, Overhead: -14},
	} {
		one := l.Rate.Serialise(l.MTU + l.Overhead)
		// At 0, a frame that crosses the threshold has arrived. PAUSE waits for a
		// frame that has just begun, then is sent.
		heard := one + l.Rate.Serialise(64+l.Overhead) + l.Delay
		taken := l.MTU
		for begun := -l.Delay; begun < heard; begun += one {
			taken += l.MTU
		}
		const rounding = 2 // bytes
		if needed := topology.NeededHeadroom(l); taken > needed+l.MTU || taken < needed-l.MTU-rounding {
			t.Errorf("%v: the peer sends %d, the headroom is %d", l, taken, needed)
		}
		if got := topology.NeededHeadroom(l); taken > got {
			t.Errorf("%v: %d bytes come in, the headroom holds %d", l, taken, got)
		}
	}
}

func TestSourcePortsAreSeededAndDynamic(t *testing.T) {
	a, again := builtin(t, "pcn-16to2"), builtin(t, "pcn-16to2")
	seen := map[uint16]bool{}
	for i, f := range a.Flows {
		if f.Source < 0xC000 || f.Source != again.Flows[i].Source {
			t.Fatalf("%s has port %#x", f.Name, f.Source)
		}
		seen[f.Source] = true
	}
	if len(seen) < len(a.Flows)*9/10 {
		t.Errorf("%d flows share %d ports", len(a.Flows), len(seen))
	}
}

package measure

import (
	"fmt"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// The depth is the largest distance over the flows; PSNs of 24 bits wrap around. Bytes and
// packets are summed over nodes, ports and classes.
func TestLosses(t *testing.T) {
	s := rack()
	notes := []fabric.Note{
		note(us, fabric.OutOfSequence, 1, 2, 1<<24-3),                                    // 5
		note(us, fabric.OutOfSequence, 0, 7, 5), note(us, fabric.OutOfSequence, 0, 6, 5), // 2, 1
	}
	var nodes []*NodeResult
	for i := range s.Nodes {
		r := NewRecorder(s, i, s.PortMap()[i])
		if i == 2 {
			r.Observe(notes)
		}
		n := r.Result()
		n.Counters = map[string]uint64{"retransmitted_bytes": 100}
		for p := range n.Ports {
			n.Ports[p].Classes = []Class{{Counters: map[string]uint64{"SAI_QUEUE_STAT_TRIM_PACKETS": 2, "trimmed_bytes": 1800}}}
		}
		nodes = append(nodes, n)
	}
	run, err := Merge(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(run.OutOfOrder, run.Flow("F0").OutOfOrder, run.RetransmittedBytes, run.TrimmedFrames, run.TrimmedBytes)
	if want := "5 2 400B 12 10.8KB"; got != want { // 4 nodes, 6 ports
		t.Errorf("got %s, want %s", got, want)
	}
}

// The imbalance weighs each set by its bytes: one with 30 and 10 bytes, one with 20 and 20.
func TestImbalance(t *testing.T) {
	list := []Parallel{{Links: []LinkOutput{{Bytes: 30}, {Bytes: 10}}}, {Links: []LinkOutput{{Bytes: 20}, {Bytes: 20}}}}
	if got := imbalance(list); got != 1.25 {
		t.Errorf("got %v, want (2·30 + 2·20)/80", got)
	}
	run := &Run{Parallel: append(list, Parallel{Switch: "busy", Links: []LinkOutput{{Bytes: 100}, {Bytes: 0}}})}
	if got := run.Busiest(1); len(got) != 1 || got[0].Switch != "busy" {
		t.Errorf("the busiest is %+v", got)
	}
	if got := Imbalance.Text(&Run{}); got != "-" {
		t.Errorf("without parallel links: %s", got)
	}
}

// A switch has one set of parallel links for all hosts that it reaches over the same ports. The
// sets of a fat tree are the links from an edge switch to its pod, and from there to the cores.
func TestParallelLinksOfAFatTree(t *testing.T) {
	text, _ := scenariofile.Builtin("permutation-16")
	s, err := scenariofile.Parse("permutation-16", text)
	if err != nil {
		t.Fatal(err)
	}
	ports := s.PortMap()
	var nodes []*NodeResult
	for i := range s.Nodes {
		n := NewRecorder(s, i, ports[i]).Result()
		for p := range n.Ports {
			n.Ports[p].Classes = []Class{{Counters: map[string]uint64{"SAI_QUEUE_STAT_BYTES": uint64(10 * (p + 1))}}}
		}
		nodes = append(nodes, n)
	}
	got := parallels(s, nodes, ports)
	if len(got) != 16 {
		t.Fatalf("%d sets, want one for each of 8 edge and 8 aggregation switches", len(got))
	}
	if text := fmt.Sprint(got[0]); text != "{e0 [{2 a0 30B} {3 a1 40B}]}" {
		t.Errorf("e0: %s", text)
	}
	if text := fmt.Sprint(got[8]); text != "{a0 [{2 c0 30B} {3 c1 40B}]}" {
		t.Errorf("a0: %s", text)
	}
}

package measure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const us = unit.Microsecond

// rack is h0, b0 -- s0 -- r0: F0 from h0 always sends; burst B comes from b0 at 100 us.
func rack() *topology.Scenario {
	link := func(a int, port fabric.Port) topology.Link {
		return topology.Link{A: a, B: 3, BPort: port, Rate: 40 * unit.GigabitPerSec, Delay: 5 * us, MTU: 1518}
	}
	nic := func(name string, host int) topology.Node {
		return topology.Node{Name: name, Kind: topology.NIC, Host: host, NIC: topology.NICSettings{Payload: 1000, Recovery: cc.RecoveryScheme}}
	}
	return &topology.Scenario{
		Name: "rack", Duration: 400 * us, Bin: 50 * us, Scheme: "pfc",
		Nodes:  []topology.Node{nic("h0", 0), nic("b0", 1), nic("r0", 2), {Name: "s0", Kind: topology.Switch, Host: -1}},
		Links:  []topology.Link{link(0, 0), link(1, 1), link(2, 2)},
		Flows:  []topology.Flow{{Name: "F0", From: 0, To: 2, Size: -1, Burst: -1}, {Name: "B/b0/0", From: 1, To: 2, Size: 1000, Start: 100 * us}},
		Bursts: []topology.Burst{{Name: "B", Flows: 1, Size: 1000, At: 100 * us}},
	}
}

// merged distributes the notes to their nodes and merges the results, after a JSON round trip as
// between processes.
func merged(t *testing.T, s *topology.Scenario, notes map[int][]fabric.Note) *Run {
	t.Helper()
	var nodes []*NodeResult
	for i := range s.Nodes {
		r := NewRecorder(s, i, s.PortMap()[i])
		r.Observe(notes[i])
		text, err := json.Marshal(r.Result())
		if err != nil {
			t.Fatal(err)
		}
		n := &NodeResult{}
		if err := json.Unmarshal(text, n); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	run, err := Merge(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func note(at unit.Time, kind fabric.Kind, flow fabric.FlowID, a, b int64) fabric.Note {
	return fabric.Note{Event: fabric.EventOf(kind, a, b), At: at, Flow: flow}
}

func TestBottleneckIsThePayloadRateOfTheSharedLink(t *testing.T) {
	s := rack()
	s.Flows = append(s.Flows, topology.Flow{Name: "F1", From: 1, To: 2, Size: -1, Burst: -1})
	// PCN-9: 40 Gbit/s carry 1000 of every 1062 bytes as payload.
	if got, want := Bottleneck(s), unit.Rate(37_664_783_427); got != want {
		t.Fatalf("two flows over one link may reach %d, want %d", got, want)
	}
	s.Flows[2].To, s.Flows[2].From = 0, 2
	if got, want := Bottleneck(s), unit.Rate(2*37_664_783_427); got != want {
		t.Fatalf("flows in opposite directions may reach %d, want %d", got, want)
	}
}

func TestGoodputPerBinAndDip(t *testing.T) {
	s := rack()
	full := Bottleneck(s).In(s.Bin)
	var delivered []fabric.Note
	for bin := range unit.Time(8) {
		share := full
		if bin == 3 || bin == 4 {
			share = full * 94 / 100 // below 95 %
		}
		delivered = append(delivered, note(bin*50*us+us, fabric.Delivered, 0, int64(share), 0))
	}
	delivered = append(delivered, note(160*us, fabric.Delivered, 1, 1000, 0))
	done := []fabric.Note{note(210*us, fabric.Completed, 1, 1000, int64(100*us))}
	run := merged(t, s, map[int][]fabric.Note{2: delivered, 1: done})
	if want := 250*us - 100*us; run.Loss != want {
		t.Errorf("loss %s, want %s", run.Loss, want)
	}
	if diff := cmp.Diff(Burst{Flows: 1, Completed: 1, P50: 110 * us, P99: 110 * us, Start: 100 * us, End: 210 * us}, run.Burst); diff != "" {
		t.Error(diff)
	}
	// The whole bins between the burst and its end: 100 to 200 us, one of them full.
	if got, want := run.Flows[0].BurstGoodput, unit.Over(full+full*94/100, 100*us); got != want {
		t.Errorf("goodput in the burst %d, want %d", got, want)
	}
	if got := run.Series.Goodput[1]; got.Name != "B" || got.Bins[3] != 1000 {
		t.Errorf("the burst's series: %+v", got)
	}
}

func TestDipIsZeroAtFullThroughput(t *testing.T) {
	s := rack()
	var delivered []fabric.Note
	for bin := range unit.Time(8) {
		delivered = append(delivered, note(bin*50*us+us, fabric.Delivered, 0, int64(Bottleneck(s).In(s.Bin)), 0))
	}
	if run := merged(t, s, map[int][]fabric.Note{2: delivered}); run.Loss != 0 || run.Recovery != 0 {
		t.Fatalf("loss %s, recovery %s", run.Loss, run.Recovery)
	}
}

func TestOpenPauseCountsToTheEndOfTheRun(t *testing.T) {
	s := rack()
	run := merged(t, s, map[int][]fabric.Note{0: {note(390*us, fabric.Paused, fabric.NoFlow, 0, 0)}, 3: {note(389*us, fabric.PauseSent, fabric.NoFlow, 0, 0)}})
	if run.Tree != 10*us || run.Pauses[0].Paused != 10*us {
		t.Fatalf("tree %s, pauses %+v", run.Tree, run.Pauses)
	}
}

func TestRatesHoldUntilTheyChange(t *testing.T) {
	s := rack()
	run := merged(t, s, map[int][]fabric.Note{0: {
		note(0, fabric.FlowStarted, 0, -1, 0),
		note(120*us, fabric.RateChanged, 0, 7, int64(40*unit.GigabitPerSec)),
	}})
	want := []unit.Rate{40e9, 40e9, 7, 7, 7, 7, 7, 7}
	if diff := cmp.Diff(want, run.Series.Rates[0].Bins); diff != "" {
		t.Error(diff)
	}
}

// A flow that has sent, and a port that has queued, have a value in every bin. A bin
// without a sample is 0.
func TestSamplesFillTheirBins(t *testing.T) {
	s := rack()
	run := merged(t, s, map[int][]fabric.Note{
		0: {
			note(0, fabric.FlowStarted, 0, -1, 0),
			note(50*us-1, fabric.SentSampled, 0, 4000, 0),
			note(150*us-1, fabric.SentSampled, 0, 500, 0),
		},
		1: {note(150*us-1, fabric.SentSampled, 1, 700, 0)},
		3: {{Event: fabric.NewQueueSampled(9000, 1000), At: 100*us - 1, Flow: fabric.NoFlow, Port: 2}},
	})
	sent := []Series{{Name: "F0", Bins: []int64{4000, 0, 500, 0, 0, 0, 0, 0}}}
	if diff := cmp.Diff(sent, run.Series.Sent); diff != "" {
		t.Error(diff)
	}
	queues := []QueueSeries{{
		Port: "s0->r0",
		Peak: []int64{0, 9000, 0, 0, 0, 0, 0, 0},
		End:  []int64{0, 1000, 0, 0, 0, 0, 0, 0},
	}}
	if diff := cmp.Diff(queues, run.Series.Queues); diff != "" {
		t.Error(diff)
	}
}

// A bucket is full until its first note, and keeps its level until the next. A NIC
// stalls for as long as its notes say, each in its bin. Each direction has its own
// series, and a NIC without notes has none.
func TestTokensAreLevelsAndStallsAddUp(t *testing.T) {
	s := rack()
	s.Nodes[0].NIC.Engine = topology.EngineSettings{Burst: 8000, OutBurst: 500}
	in, out := int64(fabric.DirectionIn), int64(fabric.DirectionOut)
	run := merged(t, s, map[int][]fabric.Note{0: {
		note(100*us-1, fabric.TokensSampled, fabric.NoFlow, 40, in),
		note(100*us-1, fabric.StallSampled, fabric.NoFlow, 7, in),
		note(150*us-1, fabric.StallSampled, fabric.NoFlow, 3, out),
		note(200*us-1, fabric.TokensSampled, fabric.NoFlow, -9, in),
		note(400*us-1, fabric.TokensSampled, fabric.NoFlow, 30, out),
	}})
	unseen := cmpopts.IgnoreUnexported(ShaperSeries{})
	if diff := cmp.Diff([]ShaperSeries{
		{Node: "h0", Direction: "in", Bins: []int64{8000, 40, 40, -9, -9, -9, -9, -9}},
		{Node: "h0", Direction: "out", Bins: []int64{500, 500, 500, 500, 500, 500, 500, 30}},
	}, run.Series.Tokens, unseen); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ShaperSeries{
		{Node: "h0", Direction: "in", Bins: []int64{0, 7, 0, 0, 0, 0, 0, 0}},
		{Node: "h0", Direction: "out", Bins: []int64{0, 0, 3, 0, 0, 0, 0, 0}},
	}, run.Series.Stalls, unseen); diff != "" {
		t.Error(diff)
	}
}

// The links and ports in which a tree harms F0 and F1 are those of the paper: s1->s0
// towards s0, s0->h0 and s0->h1 towards the hosts.
func TestVictimLinksRunFromReceiversToSenders(t *testing.T) {
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.Parse("pcn-16to2", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"s1->s0", "s0->h0", "s0->h1"}, VictimLinks(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"s1->r0", "s1->r1", "s0->s1"}, VictimPorts(s)); diff != "" {
		t.Error(diff)
	}
}

func TestDigestDependsOnNamesNotOnTheOrderOfTheFile(t *testing.T) {
	a, b := &NodeResult{Node: "a", Digest: 1}, &NodeResult{Node: "b", Digest: 2}
	if digest([]*NodeResult{a, b}) != digest([]*NodeResult{b, a}) {
		t.Error("the digest depends on the order of the file")
	}
	if digest([]*NodeResult{a, b}) == digest([]*NodeResult{{Node: "a", Digest: 2}, {Node: "b", Digest: 1}}) {
		t.Error("swapped digests are not detected")
	}
}

func TestMergeRejectsAMissingNode(t *testing.T) {
	if _, err := Merge(rack(), nil); err == nil {
		t.Fatal("a run without results was merged")
	}
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	values := []unit.Time{10, 20, 30, 40}
	for perMille, want := range map[int]unit.Time{0: 10, 1: 10, 250: 10, 251: 20, 500: 20, 750: 30, 990: 40, 1000: 40} {
		if got := Quantile(values, perMille); got != want {
			t.Errorf("%d per mille = %d, want %d", perMille, got, want)
		}
	}
	if Quantile[unit.Time](nil, 500) != 0 {
		t.Error("an empty list must have no quantile")
	}
}

// Quantities are numbers in the unit that their key names, and empty lists are still
// lists, because scripts read results.json.
func TestResultsAreNumbersInTheUnitOfTheKey(t *testing.T) {
	run := &Run{FabricTime: 20 * unit.Millisecond, Flows: []Flow{{Goodput: 12_986_777_600, Bytes: 1500}}, Pauses: []Pause{}}
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"fabric_time_ps":20000000000`, `"goodput_bps":12986777600`, `"bytes":1500`, `"pauses":[]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

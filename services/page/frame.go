package page

import (
	"fmt"
	"slices"
	"strings"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// frame is the state of a rack at an instant, encoded for the browser.
type frame struct {
	at   int64 // in picoseconds
	json []byte
}

// rackState is the JSON of a frame. Its counters count from the start of the run, so
// that a frame may be skipped. Nodes and ports are in the order of the topology.
type rackState struct {
	At       int64  `json:"at"`
	Granted  int64  `json:"granted"`
	State    string `json:"state"`
	Pace     int64  `json:"pace"` // ps per second
	Changes  int32  `json:"changes"`
	Hops     int64  `json:"hops"`
	Scheme   string `json:"scheme"`
	Scenario string `json:"scenario"`
	Digest   string `json:"digest"`
	Failed   string `json:"failed,omitempty"` // the failed node
	Failure  string `json:"failure,omitempty"`
	Stalled  string `json:"stalled"` // why the rack does not advance, "" while it does
	// Recoveries counts the recoveries from lost processes, the present one included.
	Recoveries int32       `json:"recoveries"`
	Nodes      []nodeState `json:"nodes"`
}

type nodeState struct {
	// Ports holds for each port: queue in bytes, sent and received bytes, sent and received
	// PAUSE frames, marked and dropped frames, and flags: 1 for paused by the peer, 2 for
	// link down.
	Ports [][8]int64 `json:"p"`
	// Flows holds for the flows of each sender in each burst together, and for each other
	// flow: name, number of flows, rate in bit/s, sent and acknowledged bytes.
	Flows     [][5]any `json:"f,omitempty"`
	Delivered int64    `json:"d"` // bytes
	Frozen    int      `json:"x,omitempty"`
	// Entropies holds the entropies skipped and recycled, and the freezes, of a NIC whose
	// flows choose an entropy per packet.
	Entropies []uint64 `json:"e,omitempty"`
}

// states maps the states of a clock to their names.
var states = map[rackfabv1.RackState]string{
	rackfabv1.RackState_RACK_STATE_PAUSED: "paused", rackfabv1.RackState_RACK_STATE_RUNNING: "running",
	rackfabv1.RackState_RACK_STATE_ENDED: "ended", rackfabv1.RackState_RACK_STATE_FAILED: "failed",
	rackfabv1.RackState_RACK_STATE_RECOVERING: "recovering",
}

// newFrame encodes the state of a rack.
func newFrame(w *rackfabv1.WatchResponse) frame {
	s := w.GetStatus()
	r := rackState{
		At: s.GetAtPs(), Granted: s.GetGrantedPs(), State: states[s.GetState()], Pace: s.GetPacePsPerSecond(), Changes: s.GetChanges(), Hops: s.GetFrameHops(),
		Scheme: s.GetScheme(), Scenario: s.GetScenario(), Digest: fmt.Sprintf("%016x", s.GetDigest()), Failed: s.GetFailedNode(), Failure: s.GetFailure(),
		Stalled: s.GetStalled(), Recoveries: s.GetRecoveries(),
		Nodes: make([]nodeState, len(w.GetNodes())),
	}
	for i, n := range w.GetNodes() {
		r.Nodes[i] = newNodeState(n)
	}
	return frame{r.At, marshal(r)}
}

func newNodeState(n *rackfabv1.NodeStats) nodeState {
	out := nodeState{Ports: make([][8]int64, len(n.GetPorts())), Delivered: n.GetDeliveredBytes()}
	if n.GetFrozen() {
		out.Frozen = 1
	}
	c := n.GetCounters()
	if e := []uint64{c["entropies_skipped"], c["entropies_recycled"], c["entropy_freezes"]}; slices.Max(e) > 0 {
		out.Entropies = e
	}
	for i, p := range n.GetPorts() {
		flags := int64(0)
		if p.GetPaused() {
			flags |= 1
		}
		if p.GetDown() {
			flags |= 2
		}
		out.Ports[i] = [8]int64{
			p.GetQueueBytes(), p.GetSentBytes(), p.GetReceivedBytes(), p.GetPausesSent(), p.GetPausesReceived(), p.GetMarkedFrames(), p.GetDroppedFrames(), flags,
		}
	}
	for flows := n.GetFlows(); len(flows) > 0; {
		name := groupOf(flows[0])
		var count, rate, sent, acked int64
		for ; len(flows) > 0 && groupOf(flows[0]) == name; flows = flows[1:] {
			f := flows[0]
			count, rate, sent, acked = count+1, rate+f.GetRateBps(), sent+f.GetSentBytes(), acked+f.GetAckedBytes()
		}
		out.Flows = append(out.Flows, [5]any{name, count, rate, sent, acked})
	}
	return out
}

// groupOf returns the name of the flows of a sender in a burst, or of a single flow.
func groupOf(f *rackfabv1.FlowStats) string {
	name := f.GetName()
	if last := strings.LastIndexByte(name, '/'); last > 0 {
		return name[:last]
	}
	return name
}

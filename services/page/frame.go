package page

import (
	"encoding/json"
	"strconv"
	"strings"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// frame is the state of a rack at an instant, for the browser: JSON with counters since
// the start of the run, so that a frame may be skipped. Its form is
//
//	{"at": ps, "granted": ps, "state": "running", "pace": ps/s, "changes": n, "hops": n, "scheme": s, "scenario": s,
//	 "digest": hex, "failed": node, "failure": text,
//	 "nodes": [{"p": [[queue, sent, received, pauses sent, pauses received, marked, dropped, flags], ...],
//	            "f": [[name, flows, rate, sent, acked], ...], "d": delivered, "x": 1 if frozen}, ...]}
//
// with nodes and ports in the order of the topology. Flags are 1 for paused by the peer
// and 2 for link down. The flows of one sender in one burst share one entry.
type frame struct {
	at   int64 // in picoseconds
	json []byte
}

// states maps the states of a clock to their names.
var states = map[rackfabv1.RackState]string{
	rackfabv1.RackState_RACK_STATE_PAUSED: "paused", rackfabv1.RackState_RACK_STATE_RUNNING: "running",
	rackfabv1.RackState_RACK_STATE_ENDED: "ended", rackfabv1.RackState_RACK_STATE_FAILED: "failed",
}

// newFrame encodes the state of a rack.
func newFrame(w *rackfabv1.WatchResponse) frame {
	s := w.GetStatus()
	b := make([]byte, 0, 512+96*len(w.GetNodes()))
	b = number(append(b, `{"at":`...), s.GetAtPs())
	b = number(append(b, `,"granted":`...), s.GetGrantedPs())
	b = text(append(b, `,"state":`...), states[s.GetState()])
	b = number(append(b, `,"pace":`...), s.GetPacePsPerSecond())
	b = number(append(b, `,"changes":`...), int64(s.GetChanges()))
	b = number(append(b, `,"hops":`...), s.GetFrameHops())
	b = text(append(b, `,"scheme":`...), s.GetScheme())
	b = text(append(b, `,"scenario":`...), s.GetScenario())
	b = text(append(b, `,"digest":`...), digest(s.GetDigest()))
	if s.GetFailedNode() != "" {
		b = text(append(b, `,"failed":`...), s.GetFailedNode())
		b = text(append(b, `,"failure":`...), s.GetFailure())
	}
	b = append(b, `,"nodes":[`...)
	for i, n := range w.GetNodes() {
		b = comma(b, i)
		b = appendNode(b, n)
	}
	return frame{s.GetAtPs(), append(b, "]}"...)}
}

func appendNode(b []byte, n *rackfabv1.NodeStats) []byte {
	b = append(b, `{"p":[`...)
	for i, p := range n.GetPorts() {
		b = comma(b, i)
		flags := int64(0)
		if p.GetPaused() {
			flags |= 1
		}
		if p.GetDown() {
			flags |= 2
		}
		b = numbers(b, p.GetQueueBytes(), p.GetSentBytes(), p.GetReceivedBytes(), p.GetPausesSent(), p.GetPausesReceived(),
			p.GetMarkedFrames(), p.GetDroppedFrames(), flags)
	}
	b = append(b, ']')
	if flows := grouped(n.GetFlows()); len(flows) > 0 {
		b = append(b, `,"f":[`...)
		for i, f := range flows {
			b = comma(b, i)
			b = append(b, '[')
			b = text(b, f.name)
			for _, v := range []int64{f.count, f.rate, f.sent, f.acked} {
				b = number(append(b, ','), v)
			}
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	b = number(append(b, `,"d":`...), n.GetDeliveredBytes())
	if n.GetFrozen() {
		b = append(b, `,"x":1`...)
	}
	return append(b, '}')
}

// group is the sum of the flows of one sender in one burst, or a single flow.
type group struct {
	name                     string
	count, rate, sent, acked int64
}

func grouped(flows []*rackfabv1.FlowStats) (list []group) {
	for _, f := range flows {
		name := f.GetName()
		if last := strings.LastIndexByte(name, '/'); last > 0 {
			name = name[:last]
		}
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, group{name: name})
		}
		g := &list[len(list)-1]
		g.count++
		g.rate += f.GetRateBps()
		g.sent += f.GetSentBytes()
		g.acked += f.GetAckedBytes()
	}
	return list
}

func number(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

func numbers(b []byte, list ...int64) []byte {
	b = append(b, '[')
	for i, v := range list {
		b = number(comma(b, i), v)
	}
	return append(b, ']')
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

func text(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string can always be encoded
	return append(b, quoted...)
}

func digest(d uint64) string {
	s := strconv.FormatUint(d, 16)
	return strings.Repeat("0", 16-len(s)) + s
}

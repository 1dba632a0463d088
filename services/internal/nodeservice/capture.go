package nodeservice

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Limits of captures, in packets.
const (
	recordLimit  = 1 << 17 // buffered by a capture between two grants
	messageLimit = 1 << 12 // in one message
)

// recording is a capture of a live run at a node. The stream's goroutine creates
// it between two grants; from then on the loop owns it.
type recording struct {
	*tap.Recorder
	id   int64
	lost []int64 // as last reported
}

// record replaces the captures of all nodes by those in list from the next grant on. A
// capture that is active already continues.
func (r *run) record(list *rackfabv1.NodeCaptures) error {
	next := map[*hosted][]*recording{}
	for _, c := range list.GetCaptures() {
		n := r.node(c.GetNode())
		if n == nil {
			return status.Errorf(codes.InvalidArgument, "capture %d: the process %s has no node %q", c.GetId(), r.name, c.GetNode())
		}
		old := *n.recordings.Load()
		if i := slices.IndexFunc(old, func(o *recording) bool { return o.id == c.GetId() }); i >= 0 {
			next[n] = append(next[n], old[i])
			continue
		}
		added, err := n.newRecording(c)
		if err != nil {
			return err
		}
		next[n] = append(next[n], added)
	}
	for i, n := range r.nodes {
		var recorders []*tap.Recorder
		for _, active := range next[n] {
			recorders = append(recorders, active.Recorder)
		}
		recordings := next[n]
		n.recordings.Store(&recordings)
		r.runner.Look(i, tap.Of(recorders...))
	}
	return nil
}

func (n *hosted) newRecording(c *rackfabv1.NodeCapture) (*recording, error) {
	kinds, err := tap.ParseKinds(c.GetKinds())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "capture %d: %v", c.GetId(), err)
	}
	w := tap.Window{From: unit.Time(c.GetFromPs()), To: unit.Time(c.GetToPs()), Kinds: kinds}
	if w.To == 0 {
		w.To = unit.Never
	}
	var ports []fabric.Port
	for _, port := range c.GetPorts() {
		if port < 0 || int(port) >= n.links {
			return nil, status.Errorf(codes.InvalidArgument, "capture %d: port %d of %d", c.GetId(), port, n.links)
		}
		ports = append(ports, fabric.Port(port))
	}
	return &recording{Recorder: tap.NewRecorder(n.index, n.machine, ports, w, recordLimit), id: c.GetId()}, nil
}

// captured returns the messages with the packets recorded since the last grant. The
// loop calls it.
func (n *hosted) captured() (events []*rackfabv1.RunResponse) {
	for _, c := range *n.recordings.Load() {
		packets := c.Take()
		for len(packets) > 0 || !slices.Equal(c.lost, c.Lost()) {
			most := min(len(packets), messageLimit)
			c.lost = slices.Clone(c.Lost())
			m := &rackfabv1.NodeCaptured{Id: c.id, Node: n.name, Lost: c.lost}
			for i := range packets[:most] {
				m.Packets = append(m.Packets, asPacket(&packets[i]))
			}
			packets = packets[most:]
			events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Captured{Captured: m}})
		}
	}
	return events
}

func asPacket(p *tap.Packet) *rackfabv1.CapturedPacket {
	return &rackfabv1.CapturedPacket{
		AtPs: int64(p.At), Port: int32(p.Port), Sent: p.Sent(),
		Header: slices.Clone(p.Frame.Header()), PayloadBytes: p.Frame.Payload, Trace: p.Frame.Trace,
		QueueBytes: int64(p.Queued), HeldBytes: int64(p.Held), Damaged: p.Damaged(),
	}
}

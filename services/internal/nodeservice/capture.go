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

// recording is a capture of a live run at this node. The stream's goroutine creates
// it between two grants; from then on the loop owns it.
type recording struct {
	*tap.Recorder
	id   int64
	lost []int64 // as last reported
}

// record replaces the node's captures by those in list from the next grant on. A
// capture that is active already continues.
func (p *part) record(list *rackfabv1.NodeCaptures) error {
	old, next := *p.recordings.Load(), []*recording{}
	for _, c := range list.GetCaptures() {
		if i := slices.IndexFunc(old, func(r *recording) bool { return r.id == c.GetId() }); i >= 0 {
			next = append(next, old[i])
			continue
		}
		r, err := p.newRecording(c)
		if err != nil {
			return err
		}
		next = append(next, r)
	}
	var recorders []*tap.Recorder
	for _, r := range next {
		recorders = append(recorders, r.Recorder)
	}
	p.recordings.Store(&next)
	p.runner.Look(tap.Of(recorders...))
	return nil
}

func (p *part) newRecording(c *rackfabv1.NodeCapture) (*recording, error) {
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
		if port < 0 || int(port) >= p.links {
			return nil, status.Errorf(codes.InvalidArgument, "capture %d: port %d of %d", c.GetId(), port, p.links)
		}
		ports = append(ports, fabric.Port(port))
	}
	return &recording{Recorder: tap.NewRecorder(p.index, p.machine, ports, w, recordLimit), id: c.GetId()}, nil
}

// collect passes the packets recorded up to a grant to the stream. The loop calls
// it.
func (p *part) collect() {
	var events []*rackfabv1.RunResponse
	for _, r := range *p.recordings.Load() {
		packets := r.Take()
		for len(packets) > 0 || !slices.Equal(r.lost, r.Lost()) {
			n := min(len(packets), messageLimit)
			r.lost = slices.Clone(r.Lost())
			m := &rackfabv1.NodeCaptured{Id: r.id, Lost: r.lost}
			for i := range packets[:n] {
				m.Packets = append(m.Packets, asPacket(&packets[i]))
			}
			packets = packets[n:]
			events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Captured{Captured: m}})
		}
	}
	if events != nil {
		p.captured <- events // does not block: the stream takes it before the next grant
	}
}

func asPacket(p *tap.Packet) *rackfabv1.CapturedPacket {
	return &rackfabv1.CapturedPacket{
		AtPs: int64(p.At), Port: int32(p.Port), Sent: p.Sent(),
		Header: slices.Clone(p.Frame.Header()), PayloadBytes: p.Frame.Payload, Trace: p.Frame.Trace,
		QueueBytes: int64(p.Queued), HeldBytes: int64(p.Held), Damaged: p.Damaged(),
	}
}

// sendCaptured sends the recorded packets, ahead of the answer to the grant.
func (p *part) sendCaptured(stream rackfabv1.NodeService_RunServer) error {
	select {
	case events := <-p.captured:
		for _, e := range events {
			if err := stream.Send(e); err != nil {
				return err
			}
		}
	default:
	}
	return nil
}

package nodeservice

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// maxFlows bounds the flows that a node lists individually.
const maxFlows = 64

// grant applies the changes and captures of a grant, and lets the node advance to
// its end.
func (p *part) grant(g *rackfabv1.RunGrant) error {
	until, scenario := unit.Time(g.GetUntilPs()), p.scenario.Load()
	if until <= p.granted {
		return status.Errorf(codes.FailedPrecondition, "grant of %s after that of %s", until, p.granted)
	}
	for _, t := range g.GetChanges() {
		at := unit.Time(t.GetAtPs())
		if at < p.granted {
			return status.Errorf(codes.FailedPrecondition, "change at %s, but %s have been granted", at, p.granted)
		}
		c, err := changes.Read(t.GetChange(), at)
		if err != nil {
			return err
		}
		if scenario, err = scenario.Append(c); err != nil {
			return changes.Refused(err)
		}
	}
	if len(g.GetChanges()) > 0 {
		p.scenario.Store(scenario)
		p.runner.Plan(rack.Plan(scenario, p.granted, p.index)[0])
		if follow := p.tell.follow(scenario, g.GetChanges()); follow != nil {
			p.runner.Follow(follow)
		}
	}
	if g.GetCaptures() != nil {
		if err := p.record(g.GetCaptures()); err != nil {
			return err
		}
	}
	p.granted = until
	p.runs.Grant()
	p.runner.Grant(until)
	return nil
}

// tally processes the notes of a live run.
func (p *part) tally(notes []fabric.Note) {
	s := p.scenario.Load()
	for i := range notes {
		if !notes[i].Kind.PerFrame() { // notes per frame exist only for sampled messages
			p.notices[notes[i].Kind]++
		}
		p.commands.note(s, &notes[i])
	}
	p.tell.observe(s, notes)
}

// stands puts the answer to a grant where the stream takes it. The loop does not
// wait for the stream.
func (p *part) stands(until unit.Time, r runner.Result) {
	p.stood = until
	p.count(until, &r)
	p.tell.reach(until)
	reached := &rackfabv1.RunReached{
		UntilPs: int64(until), Digest: r.Digest, Stats: p.stats(until, &r),
		Progress: &rackfabv1.RunProgress{FabricTimePs: int64(until), FrameHops: r.FrameHops, Envelopes: r.Envelopes},
	}
	p.collect()
	select {
	case <-p.arrived:
	default:
	}
	p.arrived <- &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Reached{Reached: reached}} // does not block: only the loop sends here
}

// stats returns the statistics of the node. The loop calls it.
func (p *part) stats(at unit.Time, r *runner.Result) *rackfabv1.NodeStats {
	kept := p.keep(at)
	s := kept.scenario
	out := &rackfabv1.NodeStats{
		Node: s.Nodes[p.index].Name, Notices: map[string]int64{}, Bus: p.busStats(r), Commands: kept.commands, Telemetry: p.tell.counts(),
		FlowsStarted: p.notices[fabric.FlowStarted], FlowsEnded: p.notices[fabric.Completed] + p.notices[fabric.FlowStopped],
	}
	for kind, n := range p.notices {
		out.Notices[kind.String()] = n
	}
	for _, end := range s.PortMap()[p.index] {
		out.Ports = append(out.Ports, &rackfabv1.PortStats{Peer: s.Nodes[end.Peer].Name})
	}
	if s.Nodes[p.index].Kind == topology.NIC {
		nicStats(kept.nic, s, out)
	}
	for i := range kept.sw.Ports {
		portStats(&kept.sw.Ports[i], out.GetPorts()[i])
	}
	return out
}

func nicStats(n nic.Stats, s *topology.Scenario, out *rackfabv1.NodeStats) {
	port := out.GetPorts()[0]
	port.Down, port.SentBytes, port.ReceivedBytes = n.LinkDown, int64(n.TxBytes), int64(n.RxBytes)
	port.DroppedFrames = int64(n.CutFrames + n.FrozenDrops + n.IntakeDrops)
	port.LostFrames, port.DamagedFrames = int64(n.LostFrames), int64(n.DamagedFrames)
	for _, class := range n.Priorities {
		port.Paused = port.GetPaused() || class.Held
		port.PausesSent += int64(class.TxPause)
		port.PausesReceived += int64(class.RxPause)
	}
	for _, c := range n.ClassCounters() {
		port.Classes = append(port.Classes, classStats(&c))
	}
	out.Frozen, out.Counters = n.Frozen, fabric.NonZero(n.Counters())
	for _, r := range n.Receivers {
		out.DeliveredBytes += int64(r.DeliveredBytes)
	}
	for _, f := range n.Senders {
		if f.Started && !f.Completed && int(f.Flow) < len(s.Flows) && len(out.GetFlows()) < maxFlows {
			out.Flows = append(out.Flows, &rackfabv1.FlowStats{
				Name: s.Flows[f.Flow].Name, RateBps: int64(f.Rate), SentBytes: int64(f.SentBytes), AckedBytes: int64(f.AckedBytes),
				Scheme: f.Scheme,
			})
		}
	}
}

// portStats fills in the statistics of a switch port.
func portStats(p *switching.PortStats, out *rackfabv1.PortStats) {
	out.Down, out.Counters = p.LinkDown, fabric.NonZero(p.Counters())
	out.DroppedFrames, out.LostFrames, out.DamagedFrames = int64(p.CutFrames), int64(p.LostFrames), int64(p.DamagedFrames)
	for _, c := range p.Classes {
		out.QueueBytes += int64(c.QueueBytes)
		out.Paused = out.GetPaused() || c.Paused
		out.SentBytes += int64(c.SentBytes + c.TelemetryBytes)
		out.ReceivedBytes += int64(c.ReceivedBytes)
		out.PausesSent += int64(c.PausesSent)
		out.PausesReceived += int64(c.PausesReceived)
		out.MarkedFrames += int64(c.MarkedFrames)
		out.DroppedFrames += int64(c.DroppedFrames)
	}
	for c := range p.ClassCounters() {
		out.Classes = append(out.Classes, classStats(&c))
	}
}

// classStats converts the counters of a traffic class of a port.
func classStats(c *fabric.ClassCounters) *rackfabv1.ClassStats {
	return &rackfabv1.ClassStats{
		Class: int32(c.Class), Counters: fabric.NonZero(c.Counters),
		FirstCePs: int64(c.CE), FirstPauseSentPs: int64(c.PauseSent), FirstPauseReceivedPs: int64(c.PauseReceived),
	}
}

package nic

import (
	"cmp"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// NIC is one network interface. It implements fabric.Machine with one port, 0. It
// transmits frames only in Tick.
type NIC struct {
	cfg          Config
	controlClass fabric.Priority

	dev       *qp.Device
	senders   []*qp.Sender   // of flows and of ends of connections
	receivers []*qp.Receiver // of flows and of ends of connections
	sending   qp.Index
	receiving qp.Index

	engine    *qp.Engine
	intake    rx.Intake
	pauses    rx.Pauses
	cable     fabric.Cable
	frozen    bool
	flowsLast bool      // the latest data packet was a flow's, not a command's
	freeAt    unit.Time // when the frame in transmission ends
	now       unit.Time // of the latest call
	// sampleAt is the end of the current sampling interval, Never if nothing was sent
	// in it and no tokens change.
	sampleAt  unit.Time
	sampledTx uint64 // bytes sent up to the last sample
	stats     Stats
}

var _ fabric.Machine = (*NIC)(nil)

// New returns a NIC. If cfg is not valid, the error lists all faults.
func New(cfg Config) (*NIC, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &NIC{
		cfg:          cfg,
		controlClass: cfg.DSCP[cfg.ControlDSCP],
		pauses:       rx.NewPauses(cfg.Rate),
		sampleAt:     unit.Never,
		intake:       rx.NewIntake(cfg.Intake, rx.Port{Source: frame.HostMAC(cfg.Host), Rate: cfg.Rate}),
		cable:        fabric.Cable{Rate: cfg.Rate, Delay: cfg.Delay, Overhead: cfg.Overhead, Flaws: cfg.Flaws},
	}
	n.dev = qp.NewDevice(&n.cfg.Settings, &n.stats.EventCounters, n.cfg.controlQueue(), cfg.MirrorPorts)
	if err := n.addFlows(cfg.Flows); err != nil {
		return nil, fmt.Errorf("nic %s: %w", cfg.Name, err)
	}
	n.engine = cfg.newEngine(n.dev)
	if err := cmp.Or(n.connect(cfg.Connections), n.engine.Load(cfg.Posts, cfg.Appends)); err != nil {
		return nil, fmt.Errorf("nic %s: %w", cfg.Name, err)
	}
	return n, nil
}

// addFlows adds the queue pairs of flows that start or end here.
func (n *NIC) addFlows(flows []FlowConfig) error {
	from := func(f FlowConfig) bool { return f.To != n.cfg.Host }
	senders := make([]qp.Requester, 0, count(flows, from))
	receivers := make([]qp.Responder, 0, len(flows)-cap(senders))
	n.grow(cap(senders), cap(receivers))
	for _, f := range flows {
		if !from(f) {
			receivers = append(receivers, qp.Responder{})
			r := &receivers[len(receivers)-1]
			r.Init(n.dev, f, len(n.receivers), frame.SenderQP(uint32(f.ID)))
			n.receiving.Add(f.ID, len(n.receivers))
			n.receivers, n.dev.Responders = append(n.receivers, &r.Receiver), append(n.dev.Responders, r)
			continue
		}
		i := len(n.senders)
		senders = append(senders, qp.Requester{})
		r := &senders[len(senders)-1]
		if err := r.Init(n.dev, f, i); err != nil {
			return err
		}
		n.senders, n.dev.Flows = append(n.senders, &r.Sender), append(n.dev.Flows, r)
		n.sending.Add(f.ID, i)
	}
	return nil
}

// connect adds this host's ends of connections.
func (n *NIC) connect(list []ConnectionConfig) error {
	n.grow(len(list), len(list))
	for _, c := range list {
		s, r, err := n.engine.Add(c, len(n.senders), len(n.receivers))
		if err != nil {
			return fmt.Errorf("connection %d: %w", c.ID, err)
		}
		n.senders, n.dev.Flows = append(n.senders, s), append(n.dev.Flows, nil)
		n.receivers, n.dev.Responders = append(n.receivers, r), append(n.dev.Responders, nil)
	}
	return nil
}

// count returns the number of flows that satisfy keep.
func count(flows []FlowConfig, keep func(FlowConfig) bool) (n int) {
	for _, f := range flows {
		if keep(f) {
			n++
		}
	}
	return n
}

// grow makes room in the timers and the turns for more senders and receivers.
func (n *NIC) grow(senders, receivers int) {
	n.dev.Timers.Grow(len(n.senders)+senders, len(n.receivers)+receivers)
	n.dev.Turns.Grow(len(n.senders) + senders)
}

// Arrive handles a frame received from the link.
func (n *NIC) Arrive(now unit.Time, _ fabric.Port, f *frame.Frame, out *fabric.Out) {
	n.now = now
	if n.lost(now, f, out) {
		return
	}
	n.stats.RxPackets++
	class, prio := f.Class(), n.dev.ClassOf(f)
	length := uint64(f.LenOf(class))
	n.stats.RxBytes += length
	if fabric.Follows(f.Trace) {
		out.Arrived(now, 0, prio, f)
	}
	routed := class == frame.ClassRoCE || class == frame.ClassUET
	if routed {
		n.stats.Priorities[prio].RxPackets++
		n.stats.Priorities[prio].RxBytes += length
	}
	switch {
	case class == frame.ClassPFC:
		n.receivePFC(now, f, out)
	case !n.intake.Immediate() && routed && prio != n.controlClass:
		// Frames of the control class end in the NIC.
		n.intake.Put(now, prio, f, out)
	default:
		n.handle(now, class, f, out)
	}
	n.engine.Advance(now, out)
}

// handle processes a frame that has passed the receive buffer.
func (n *NIC) handle(now unit.Time, class frame.Class, f *frame.Frame, out *fabric.Out) {
	n.dev.Arrival, n.dev.Cause = f.Arrival, f.Trace
	switch class {
	case frame.ClassRoCE:
		n.packet(now, f, out)
	case frame.ClassUET:
		n.uet(now, f, out)
	case frame.ClassCNM:
		n.sampled(now, f, out)
	default:
		n.dev.Discard(now, f, out)
	}
}

// packet passes a RoCEv2 packet to its queue pair. It discards packets for queue pairs
// that this NIC does not have, and packets from hosts other than the queue pair's peer.
func (n *NIC) packet(now unit.Time, f *frame.Frame, out *fabric.Out) {
	flow, toSender, known := frame.FlowOfQP(f.DestQP())
	qps := &n.receiving
	if toSender {
		qps = &n.sending
	}
	i, ok := qps.Find(fabric.FlowID(flow))
	switch {
	case !ok && known && n.engine.Receive(now, fabric.FlowID(flow), toSender, f, out):
	case !ok || !known || f.DstIP() != frame.HostIP(n.cfg.Host):
		n.dev.Discard(now, f, out)
	case toSender:
		n.dev.Flows[i].Receive(now, f, out)
	default:
		n.dev.Responders[i].Receive(now, f, out)
	}
}

// uet passes a UET packet to the flow of its packet delivery context. It discards packets
// for flows that this NIC does not have, and packets from hosts other than the peer.
func (n *NIC) uet(now unit.Time, f *frame.Frame, out *fabric.Out) {
	id, ok := f.UETFlow()
	ok = ok && n.cfg.Notification == cc.NotifyCredit && f.DstIP() == frame.HostIP(n.cfg.Host)
	toSender := f.UETType() != frame.UETRequest &&
		(f.UETType() != frame.UETControl || f.UETControl() == frame.UETCredit)
	qps := &n.receiving
	if toSender {
		qps = &n.sending
	}
	switch i, known := qps.Find(fabric.FlowID(id)); {
	case !ok || !known:
		n.dev.Discard(now, f, out)
	case toSender:
		n.dev.Flows[i].ReceiveUET(now, f, out)
	default:
		n.dev.Responders[i].ReceiveUET(now, f, out)
	}
}

// Tick handles due timers, then starts a transmission if possible, and takes a due
// sample last.
func (n *NIC) Tick(now unit.Time, out *fabric.Out) {
	n.now = now
	if n.frozen {
		return
	}
	if n.pauses.Next() <= now {
		n.pauses.Expire(now, out)
		n.engine.Pause(now, n.pauses.Set())
	}
	for n.intake.Due() <= now {
		f := n.intake.Take()
		n.handle(now, f.Class(), &f, out)
	}
	for n.dev.Timers.Next() <= now {
		n.timerDue(now, out)
	}
	if n.dev.Grantor.Next() <= now || n.dev.Accounts.Next() <= now {
		if n.dev.TickCredit(now, out) && n.sampleAt == unit.Never {
			n.sampleAt = n.cfg.Sampling.After(now)
		}
	}
	if n.engine.Next() <= now {
		n.engine.Tick(now, out)
	}
	n.transmit(now, out)
	n.engine.Advance(now, out)
	if n.sampleAt <= now {
		n.noteSample(now, out)
	}
}

// timerDue handles the timer that fires first.
func (n *NIC) timerDue(now unit.Time, out *fabric.Out) {
	switch kind, i := n.dev.Timers.First(); kind {
	case qp.Start:
		n.dev.Timers.Set(qp.Start, i, unit.Never)
		n.dev.Flows[i].Begin(now, out)
	case qp.React:
		n.senders[i].React(now, out)
	case qp.Resend:
		n.dev.Flows[i].Overdue(now, out)
	case qp.Notify:
		n.receivers[i].NotifyDue(now, out)
	}
}

// Next returns the next instant at which a timer fires, a pause expires, a transmission
// can start, or a sample is due. It returns false if there is none.
func (n *NIC) Next() (unit.Time, bool) {
	if n.frozen {
		return 0, false
	}
	at := n.dev.Timers.Next()
	at = min(at, n.pauses.Next(), n.intake.Due(), n.dev.Grantor.Next(), n.dev.Accounts.Next(), n.sendDue(), n.sampleAt, n.engine.Next())
	if at == unit.Never {
		return 0, false
	}
	return max(at, n.now), true
}

package qp

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Table holds the queue pairs of a NIC. It passes packets to them, and lets their timers
// fire.
type Table struct {
	Device
	// Engine has the ends of connections.
	Engine *Engine
	// Senders and Receivers are those of flows and of ends of connections.
	Senders    []*Sender
	Receivers  []*Receiver
	Responders []*Responder // by receiver; nil for initiators of connections
	flows      []*Flow      // by sender; nil for ends of connections
	requesters []*Requester // by sender; nil for targets of connections
	sending    Index        // by flow or connection: index of its requester
	receiving  Index        // by flow or connection: index of its responder
	// Ended counts for the queue pairs of the flows in sent and arrived, which are dropped.
	Ended         EndedStats
	sent, arrived ended
	Samples       bool // the NIC samples what senders send
}

// Init makes t a table without queue pairs, see Device.init.
func (t *Table) Init(s *Settings, count *EventCounters, queue control.Config, mirror bool) {
	t.init(s, count, queue, mirror)
	t.Arbiter = shaper.NewArbiter(func(i int) bool { return t.flows[i].Pending() })
	t.backlog = func(i int) unit.Bytes { return t.flows[i].backlog() }
	t.offer = func(i int) { t.flows[i].Offer() }
}

// AddFlows adds the queue pairs of flows that start or end here, and drops those of flows that have ended.
func (t *Table) AddFlows(flows []fabric.Flow) error {
	t.dropEnded()
	from := 0
	for i := range flows {
		if flows[i].To != t.Host {
			from++
		}
	}
	senders, receivers := make([]Flow, 0, from), make([]Responder, 0, len(flows)-from)
	t.grow(cap(senders), cap(receivers))
	for _, f := range flows {
		if f.To == t.Host {
			receivers = append(receivers, Responder{})
			r := &receivers[len(receivers)-1]
			r.Init(&t.Device, f, len(t.Receivers), frame.SenderQP(uint32(f.ID)))
			t.receiving.Add(f.ID, len(t.Receivers))
			t.Receivers, t.Responders = append(t.Receivers, &r.Receiver), append(t.Responders, r)
			continue
		}
		senders = append(senders, Flow{})
		r := &senders[len(senders)-1]
		if err := r.Init(&t.Device, f, len(t.Senders)); err != nil {
			return err
		}
		t.sending.Add(f.ID, len(t.Senders))
		t.addSender(&r.Sender, r, &r.Requester)
	}
	return nil
}

// Connect adds this host's ends of connections.
func (t *Table) Connect(list []ConnectionConfig) error {
	t.grow(len(list), len(list))
	for _, c := range list {
		end, err := t.Engine.add(c, len(t.Senders), len(t.Receivers))
		if err != nil {
			return fmt.Errorf("connection %d: %w", c.ID, err)
		}
		if end.requester != nil {
			t.sending.Add(c.ID, len(t.Senders))
		} else {
			t.receiving.Add(c.ID, len(t.Receivers))
		}
		t.addSender(end.sender, nil, end.requester)
		t.Receivers, t.Responders = append(t.Receivers, end.receiver), append(t.Responders, end.responder)
	}
	return nil
}

// addSender adds a sender that belongs to a flow, to another requester, or to a responder.
func (t *Table) addSender(s *Sender, flow *Flow, requester *Requester) {
	t.Senders, t.flows, t.requesters = append(t.Senders, s), append(t.flows, flow), append(t.requesters, requester)
}

// SenderStats returns a snapshot of the sender with that index.
func (t *Table) SenderStats(i int) SenderStats {
	stats := t.Senders[i].Stats()
	if i < len(t.spreads) && t.spreads[i] != nil {
		stats.Entropy = t.spreads[i].chosen()
	}
	return stats
}

// grow makes room in the timers and the arbiter for more senders and receivers.
func (t *Table) grow(senders, receivers int) {
	t.Timers.Grow(len(t.Senders)+senders, len(t.Receivers)+receivers)
	t.Arbiter.Grow(len(t.Senders) + senders)
	if t.Probe > 0 {
		t.Probes.Grow(len(t.Senders) + senders)
	}
}

// Has reports whether the NIC has a queue pair of the flow or connection.
func (t *Table) Has(id fabric.FlowID) bool {
	_, sends := t.sending.Find(id)
	_, receives := t.receiving.Find(id)
	_, _, sent := t.sent.find(id)
	_, _, arrived := t.arrived.find(id)
	return sends || receives || sent || arrived
}

// Flow returns a flow that starts here. It returns false if there is none with that ID.
func (t *Table) Flow(id fabric.FlowID) (*Flow, bool) {
	i, ok := t.sending.Find(id)
	if !ok || t.flows[i] == nil {
		return nil, false
	}
	return t.flows[i], true
}

// pairs returns the index of the queue pairs to which packets are sent: requesters if they go
// to the sender, or else responders.
func (t *Table) pairs(toSender bool) *Index {
	if toSender {
		return &t.sending
	}
	return &t.receiving
}

// Receive passes a RoCEv2 packet to its queue pair. It discards packets for queue pairs
// that this NIC does not have, and packets from hosts other than the queue pair's peer.
func (t *Table) Receive(now unit.Time, f *frame.Frame, out *fabric.Out) {
	flow, toSender, known := frame.FlowOfQP(f.DestQP())
	i, ok := t.pairs(toSender).Find(fabric.FlowID(flow))
	switch {
	case !known || f.DstIP() != frame.HostIP(t.Host) || !ok && !t.receiveLate(now, fabric.FlowID(flow), toSender, f, out):
		t.Discard(now, f, out)
	case !ok:
	case toSender:
		t.requesters[i].Receive(now, f, out)
	default:
		t.Responders[i].Receive(now, f, out)
	}
}

// ReceiveUET passes a UET packet to the flow of its packet delivery context. It discards
// packets as Receive does.
func (t *Table) ReceiveUET(now unit.Time, f *frame.Frame, out *fabric.Out) {
	flow, known := f.UETFlow()
	toSender := !f.UETType().IsRequest() &&
		(f.UETType() != frame.UETControl || f.UETControl() == frame.UETCredit)
	i, ok := t.pairs(toSender).Find(fabric.FlowID(flow))
	switch {
	case !ok || !known || !t.Notification.UET() || f.DstIP() != frame.HostIP(t.Host):
		t.Discard(now, f, out)
	case toSender:
		t.requesters[i].ReceiveUET(now, f, out)
	default:
		t.Responders[i].ReceiveUET(now, f, out)
	}
}

// ReceiveCNM handles a congestion notification message of a switch (IEEE 802.1Qau). The
// sampled packet that it returns identifies the flow by its destination queue pair.
func (t *Table) ReceiveCNM(now unit.Time, f *frame.Frame, out *fabric.Out) {
	pair, whole := f.SampledQP()
	flow, toSender, known := frame.FlowOfQP(pair)
	s := t.senderOf(fabric.FlowID(flow), toSender)
	_, acked := t.receiving.Find(fabric.FlowID(flow))
	_, _, late := t.arrived.find(fabric.FlowID(flow))
	switch {
	case whole && known && toSender && (acked || late) && s == nil:
		t.CNMIgnored++ // a sampled ACK: ACKs have no rate to reduce
	case !whole || !known || s == nil || f.DstMAC() != frame.HostMAC(t.Host):
		t.Discard(now, f, out)
	default:
		s.SampledBySwitch(now, f, out)
	}
}

// senderOf returns the sender of a packet: of a flow's data packet, or of a packet that this
// end of a connection sent. It returns nil if this NIC did not send the packet.
func (t *Table) senderOf(flow fabric.FlowID, toSender bool) *Sender {
	i, ok := t.pairs(!toSender).Find(flow)
	switch {
	case ok && !toSender:
		return t.Senders[i]
	case ok && t.Responders[i].responses != nil:
		return t.Responders[i].responses.sender
	case !ok && !toSender:
		if r := t.lateSender(flow); r != nil {
			return &r.Sender
		}
	}
	return nil
}

// Pick returns what sends next. It returns false if nothing may send now.
func (t *Table) Pick(now unit.Time, out *fabric.Out) (c shaper.Choice, ok bool) {
	c, ok = t.Arbiter.Pick(now)
	if out.Quiet && out.Follow == nil {
		return c, ok
	}
	kind := fabric.TokensAwaited
	if ok && c.Unit {
		kind = fabric.PassedOver
	}
	t.Engine.noteExcess(now, kind, out)
	return c, ok
}

// Send writes the next packet of what was picked into f. It returns the packet's length, and
// the arrival of the packet that it answers, Never if it answers none.
func (t *Table) Send(now unit.Time, c shaper.Choice, f *frame.Frame, out *fabric.Out) (length unit.Bytes, in unit.Time) {
	if c.Unit {
		return t.Engine.send(now, c.Index, f, out)
	}
	return t.flows[c.Index].Send(now, f, out), unit.Never
}

// SwitchSchemes switches pairs of hosts to a scheme, and reports whether that is possible.
func (t *Table) SwitchSchemes(now unit.Time, c *fabric.Change, out *fabric.Out) bool {
	if !t.choose(c) {
		return false
	}
	for _, r := range t.Receivers {
		r.SwitchScheme()
	}
	for _, s := range t.Senders {
		s.SwitchScheme(now, out)
	}
	return true
}

// Next returns the next instant at which a timer fires, or a probe or credit is due.
func (t *Table) Next() unit.Time {
	return min(t.Timers.Next(), t.Probes.Next(), t.Grantor.Next(), t.Accounts.Next())
}

// FireTimers handles the timers that are due.
func (t *Table) FireTimers(now unit.Time, out *fabric.Out) {
	for t.Timers.Next() <= now {
		switch kind, i := t.Timers.First(); kind {
		case Start:
			t.Timers.Set(Start, i, unit.Never)
			t.flows[i].Begin(now, out)
		case React:
			t.Senders[i].React(now, out)
		case Resend:
			t.requesters[i].Overdue(now, out)
		case Notify:
			t.Receivers[i].NotifyDue(now, out)
		}
	}
	for t.Probes.Next() <= now {
		i, _ := t.Probes.First()
		t.Senders[i].ProbeDue(now, out)
	}
}

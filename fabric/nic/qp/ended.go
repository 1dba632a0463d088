package qp

import (
	"slices"
	"sort"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A NIC to which flows are added for hours must not keep the queue pairs of those that have ended. With
// each addition, the table drops the ended ones at the end of its lists, which leaves the order of all
// others as it is. It remembers 16 bytes for consecutive flows from one host, so that late packets are
// answered as before: an ACK is counted, and a duplicate is acknowledged again. Not dropped are flows over
// UET, with selective repeat or an entropy per packet, with CETH, and of programs, and those listed
// before a flow that goes on.
//
// The notification point of a dropped receiver starts anew with a late duplicate.

// EndedStats counts what the dropped queue pairs had counted.
type EndedStats struct {
	RetransmittedPackets uint64
	DeliveredBytes       unit.Bytes
}

// ended lists flows of which this end has been dropped.
type ended struct {
	runs  []endedRun // ascending
	kinds []endedKind
}

// endedRun is a run of flows with consecutive IDs, of one kind, to or from one host.
type endedRun struct {
	first      fabric.FlowID
	count      uint32
	peer, kind int32
}

// endedKind is the common state of flows of one kind. Its flow has no ID, hosts, start and source.
type endedKind struct {
	flow     fabric.Flow
	expected uint32 // as in Responder; 0 at the sender
	msn      uint32
}

// add adds a flow whose other end is peer.
func (e *ended) add(flow fabric.Flow, peer int, kind endedKind) {
	if _, _, ok := e.find(flow.ID); ok {
		return // a late packet has brought it back
	}
	id := flow.ID
	flow.ID, flow.From, flow.To, flow.Start, flow.Source = 0, 0, 0, 0, 0
	kind.flow = flow
	run := endedRun{first: id, count: 1, peer: int32(peer), kind: e.kindOf(kind)}
	i := sort.Search(len(e.runs), func(k int) bool { return e.runs[k].first > id })
	switch {
	case i > 0 && e.runs[i-1].continues(&run):
		e.runs[i-1].count++
	case i < len(e.runs) && run.continues(&e.runs[i]):
		e.runs[i].first, e.runs[i].count = id, e.runs[i].count+1
	default:
		e.runs = slices.Insert(e.runs, i, run)
	}
}

// continues reports whether next follows on r.
func (r *endedRun) continues(next *endedRun) bool {
	return r.first+fabric.FlowID(r.count) == next.first && r.peer == next.peer && r.kind == next.kind
}

// kindOf returns the index of a kind.
func (e *ended) kindOf(kind endedKind) int32 {
	for i := len(e.kinds) - 1; i >= 0; i-- {
		if e.kinds[i] == kind {
			return int32(i)
		}
	}
	e.kinds = append(e.kinds, kind)
	return int32(len(e.kinds) - 1)
}

// find returns the host at the other end of a flow and its kind, false if it is not listed.
func (e *ended) find(id fabric.FlowID) (peer int, kind *endedKind, ok bool) {
	i := sort.Search(len(e.runs), func(k int) bool { return e.runs[k].first > id }) - 1
	if i < 0 || id-e.runs[i].first >= fabric.FlowID(e.runs[i].count) {
		return 0, nil, false
	}
	return int(e.runs[i].peer), &e.kinds[e.runs[i].kind], true
}

// dropEnded drops the ended queue pairs at the end of the lists.
func (t *Table) dropEnded() {
	n := len(t.Senders)
	for ; n > 0 && t.senderEnded(n-1); n-- {
		s := t.Senders[n-1]
		t.Ended.RetransmittedPackets += s.RetransmittedPackets
		t.sent.add(s.Flow, s.To, endedKind{})
		t.sending.Remove(s.ID)
	}
	t.Senders, t.flows, t.requesters = cut(t.Senders, n), cut(t.flows, n), cut(t.requesters, n)
	for n = len(t.Receivers); n > 0 && t.receiverEnded(n-1); n-- {
		r := t.Responders[n-1]
		t.Ended.DeliveredBytes += r.DeliveredBytes
		t.arrived.add(r.Flow, r.From, endedKind{expected: r.expected, msn: r.msn})
		t.receiving.Remove(r.ID)
	}
	t.Receivers, t.Responders = cut(t.Receivers, n), cut(t.Responders, n)
}

// cut returns the first n elements, and releases what the others refer to.
func cut[T any](list []T, n int) []T {
	clear(list[n:])
	return list[:n]
}

// plain reports whether the flow may be dropped once it has ended.
func (t *Table) plain(f *fabric.Flow) bool {
	return f.Recovery == fabric.GoBackN && f.Start != unit.Never && f.Size != work.Posted && !t.Notification.UET()
}

// senderEnded reports whether the sender with that index may be dropped: nothing of it is due, and its
// bytes have been sampled.
func (t *Table) senderEnded(i int) bool {
	s := t.Senders[i]
	if t.flows[i] == nil || !s.done || !t.plain(&s.Flow) || !t.Arbiter.Parked(i) || t.Samples && s.unsampled() > 0 ||
		i < len(t.spreads) && t.spreads[i] != nil {
		return false
	}
	for _, kind := range []Timer{Start, React, Resend} {
		if t.Timers.At(kind, i) != unit.Never {
			return false
		}
	}
	return t.Probe == 0 || t.Probes.At(i) == unit.Never
}

// receiverEnded reports whether the receiver with that index may be dropped: everything has arrived
// and is acknowledged, and its notification point is idle.
func (t *Table) receiverEnded(i int) bool {
	r := t.Responders[i]
	return r != nil && r.responses == nil && r.early == nil && t.plain(&r.Flow) && r.mode != cc.NotifyCETH &&
		r.Size > 0 && r.DeliveredBytes == r.Size && r.unacked == 0 && t.Timers.At(Notify, i) == unit.Never
}

// receiveLate passes a packet to the queue pair of a dropped flow. It returns false if there is none.
func (t *Table) receiveLate(now unit.Time, id fabric.FlowID, toSender bool, f *frame.Frame, out *fabric.Out) bool {
	if toSender {
		s := t.lateSender(id)
		if s == nil {
			return false
		}
		s.Receive(now, f, out)
		return true
	}
	from, kind, ok := t.arrived.find(id)
	if !ok || f.SrcIP() != frame.HostIP(from) {
		return false
	}
	flow := kind.flow
	flow.ID, flow.From, flow.To, flow.Source = id, from, t.Host, f.SrcPort()
	t.revive(flow, kind).Receive(now, f, out)
	return true
}

// revive adds the receiver of a dropped flow again.
func (t *Table) revive(flow fabric.Flow, kind *endedKind) *Responder {
	t.grow(0, 1)
	r := &Responder{}
	r.Init(&t.Device, flow, len(t.Receivers), frame.SenderQP(uint32(flow.ID)))
	r.expected, r.msn, r.DeliveredBytes = kind.expected, kind.msn, flow.Size
	t.Ended.DeliveredBytes -= flow.Size
	t.receiving.Add(flow.ID, len(t.Receivers))
	t.Receivers, t.Responders = append(t.Receivers, &r.Receiver), append(t.Responders, r)
	return r
}

// lateSender returns the requester of a dropped flow for one packet, nil if there is none. It is done, so
// the packet changes counters only.
func (t *Table) lateSender(id fabric.FlowID) *Requester {
	to, kind, ok := t.sent.find(id)
	if !ok {
		return nil
	}
	flow := kind.flow
	flow.ID, flow.From, flow.To = id, t.Host, to
	return &Requester{Sender: Sender{Device: &t.Device, Flow: flow, Class: t.DSCP[flow.DSCP], started: true, done: true, scheme: t.schemeOf(&flow)}}
}

package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/unit"
)

// receipts is what a responder knows of the packets of a sender that sprays: what its ACKs and
// NAKs report besides the placed packets, and when it acknowledges.
type receipts struct {
	every    unit.Bytes // payload that one ACK acknowledges if nothing else requests one
	received unit.Bytes // payload of new packets, neither trimmed nor duplicate
	pending  unit.Bytes // of which since the last ACK
	begun    bool       // a packet has arrived
	asked    bool       // an ACK was requested, and packets have been missing since
	refused  int64      // after the newest packet that arrived trimmed; 0 if none did
	held     held
}

// held is the newest packet that awaits its ACK, if pending is above 0.
type held struct {
	number  int64 // as placement counts
	about   frame.Receipt
	arrival unit.Time
	trace   uint64
}

// Flags of an arrival.
type coming uint8

const (
	fresh     coming = iota // a new packet
	duplicate               // it arrived before
)

// due reports whether the packet f, whose payload has been added, is to be acknowledged at once: it is marked,
// a duplicate, the first, or asks for it; or the last missing packet after one that asked; or the
// payload since the last ACK suffices (uec.cpp 22 and 2571 to 2739). So is every packet while one that
// arrived trimmed is missing, which is this project's: its NAK may close the sender's window, and then
// no later packet asks for an ACK of those in flight. Receiver credit alone has no window to close.
func (r *Responder) due(f *frame.Frame, how coming) bool {
	k, asks, missing := r.early.receipts, r.asksForACK(f), r.early.urgent()
	drained := k.asked && !missing
	k.asked = (k.asked || asks) && missing
	closing := r.early.placed.first < k.refused && !r.statesCredit()
	due := how == duplicate || !k.begun || asks || drained || closing || f.ECN() == frame.CE || k.pending >= k.every
	k.begun = true
	return due
}

// add counts the payload of a new packet.
func (k *receipts) add(payload unit.Bytes) {
	k.received += payload
	k.pending += payload
}

// conclude acknowledges the packet f if that is due.
func (r *Responder) conclude(now unit.Time, f *frame.Frame, how coming, out *fabric.Out) {
	if r.due(f, how) {
		r.ack(now, f, out)
		return
	}
	r.early.receipts.held = held{r.number(f), r.about(f), f.Arrival, f.Trace}
}

// release acknowledges the packets that await an ACK, over UET, whose NACKs acknowledge nothing. It answers
// the newest of them, and is due to a trimmed packet f.
func (r *Responder) release(now unit.Time, f *frame.Frame, out *fabric.Out) {
	k := r.early.receipts
	if !r.overUET || k.pending == 0 {
		return
	}
	c := control.Answer(control.UETAck, r, f)
	c.PSN, c.Trace, c.In, c.Port = r.after(-1), k.held.trace, k.held.arrival, k.held.about.SrcPort
	r.acknowledges(k.held.number, k.held.about, &c)
	r.confirm(now, &c, out)
}

// requestAgain answers a packet that arrived trimmed by a NAK, or by an ACK if it arrived before.
func (r *Responder) requestAgain(now unit.Time, f *frame.Frame, out *fabric.Out) {
	n := r.number(f)
	if n < r.early.placed.first || r.early.placed.has(n) {
		r.DuplicateRequest++
		r.ack(now, f, out)
		return
	}
	r.release(now, f, out)
	k := r.early.receipts
	k.refused = max(k.refused, n+1)
	nak := r.nak(now, f)
	if nak.Syndrome = frame.SyndromeNAKTrimmed; r.AtLastHop(f) {
		nak.Syndrome = frame.SyndromeNAKTrimmedLastHop
	}
	if r.confirm(now, &nak, out) {
		out.Note(fabric.Note{Event: fabric.NewNakSent(r.psnOf(f)), At: now, Flow: r.ID, Priority: r.Control.ClassOf(&nak), Trace: f.Trace})
	}
}

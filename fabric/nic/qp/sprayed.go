package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The ACKs and NAKs of a requester that sprays: each reports on one packet, and what has
// arrived.

// report is what an ACK or NAK of a packet that may have arrived out of order says.
type report struct {
	upTo    int64  // the packets below it have arrived
	base    int64  // of the 64 packets of set, first in the most significant bit
	set     uint64 // those that have arrived
	packet  int64  // the one that is answered
	receipt frame.Receipt
	rtt     unit.Time // from the transmission of the packet to the arrival of the answer; 0: unknown
	kind    arrival
	// uncounted: the receipt does not count received bytes.
	uncounted bool
}

// arrival is how the answered packet arrived.
type arrival uint8

const (
	whole arrival = iota
	trimmed
	trimmedAtLastHop
)

// path returns what the report shows about the path of the packet. A packet trimmed at the last hop
// is taken as one that arrived.
func (k *report) path() entropy.Feedback {
	if k.kind == trimmed {
		return entropy.NACK
	}
	return aboutPath(k.receipt.Marked)
}

// answers handles an ACK or NAK of a packet, over RoCEv2.
func (r *Requester) answers(now unit.Time, f *frame.Frame, out *fabric.Out) {
	receipt, ok := f.Receipt()
	oldest := r.recovery.oldest()
	upTo := nearest(oldest, f.PSN())
	k := report{upTo: upTo, receipt: receipt, packet: nearest(oldest, receipt.PSN), rtt: r.RTTOf(now, f, out)}
	switch syndrome := f.Syndrome(); {
	case !ok:
		r.Discard(now, f, out)
		return
	case syndrome == frame.SyndromeACK:
		k.upTo++
	case syndrome == frame.SyndromeNAKTrimmed:
		k.kind = trimmed
	case syndrome == frame.SyndromeNAKTrimmedLastHop:
		k.kind = trimmedAtLastHop
	default:
		r.Discard(now, f, out) // a responder of WRITEs that fit sends no other
		return
	}
	if k.kind == whole {
		r.RxACKs++
		if out.Wants(f.Trace) {
			out.Note(fabric.Note{Event: fabric.NewAcked(f.PSN(), receipt.Marked), At: now, Flow: r.ID, Priority: r.ClassOf(f), Trace: f.Trace})
		}
	} else {
		r.PacketSeqErr++
	}
	if sack := f.SACK(); sack.Bitmap != 0 {
		k.base, k.set = nearest(oldest, sack.Base), sack.Bitmap
	}
	r.reported(now, &k, out)
}

// reported handles a report, over RoCEv2 or UET.
func (r *Requester) reported(now unit.Time, k *report, out *fabric.Out) {
	r.spread.echoed(now, k.receipt.SrcPort, k.path())
	s, left := r.spray, r.queue.Len()
	if k.rtt -= unit.Time(k.receipt.Service) * frame.ServiceUnit; !s.samples(k.packet, k.receipt.Resent) {
		k.rtt = 0
	}
	owed := s.owed
	bytes := s.acknowledged(now, k.upTo, out)
	if k.set != 0 {
		bytes += s.selected(k.base, k.set)
	}
	r.AckedBytes += bytes
	if bytes > 0 {
		s.expired = 0
	}
	newly := bytes
	if !k.uncounted {
		newly = s.newly(k.receipt.Received)
	}
	// What was found lost has left before. The receiver rounds its count up, and counts packets before a
	// SACK names them, so that the bytes in flight are slightly too low, even negative (UE
	// specification, table 3-77).
	r.Fly(owed - s.owed - newly)
	rtt := max(k.rtt, 0)
	if k.kind != whole {
		rtt = 0 // the headers of a trimmed packet overtake the queue that delays the others
	}
	if newly > 0 || rtt > 0 {
		r.Signal(now, cc.Signal{
			Kind: cc.Ack, Bytes: newly, InFlight: max(r.inFlight, 0), RTT: rtt, Marked: k.receipt.Marked,
			Penalty: k.receipt.Penalty, Restore: k.receipt.Restore,
		}, out)
	}
	if k.kind != whole {
		r.refused(now, k, out)
	}
	r.loses(now, cc.Lost, s.outOfOrder(int(k.receipt.OutOfOrder)), out)
	if left > 0 && r.queue.Len() == 0 {
		r.consumer.drained(now, out)
	}
	r.owner.Offer()
}

// refused handles that the packet of a report arrived trimmed.
func (r *Requester) refused(now unit.Time, k *report, out *fabric.Out) {
	bytes := r.spray.trimmed(k.packet)
	if bytes == 0 {
		return
	}
	r.Fly(-bytes)
	r.Signal(now, cc.Signal{
		Kind: cc.Trimmed, Bytes: bytes, InFlight: max(r.inFlight, 0), RTT: max(k.rtt, 0), LastHop: k.kind == trimmedAtLastHop,
	}, out)
}

package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// acceptance is the order in which a responder accepts packets, the counterpart of a
// requester's recovery.
type acceptance interface {
	// early handles the packet f, which is ahead of the expected one by the given number,
	// above 0.
	early(now unit.Time, r *Responder, ahead int32, f *frame.Frame, out *fabric.Out)
	// advance returns how far the expected PSN moves when the next packets, of the given
	// number, are accepted: past them, and past those accepted early that follow.
	advance(packets int32) int32
	// urgent reports whether the packet accepted just now must be acknowledged at once; ends
	// says whether it ended a message.
	urgent(ends bool) bool
	// report returns the SACK of an ACK or NAK that is sent now; its bitmap is 0 if there is none.
	report() frame.SACK
}

// inOrder accepts packets in the order of their PSNs only (IBTA volume 1 §9.7.5).
type inOrder struct{}

// early counts and notes the packet as out of sequence, and requests the expected one by NAK, once
// per gap. If the control queue has no room for the NAK, the next out-of-order packet triggers it
// again.
func (inOrder) early(now unit.Time, r *Responder, ahead int32, f *frame.Frame, out *fabric.Out) {
	r.outOfSequence(now, r.after(ahead), f, out)
	if !r.nakSent {
		r.nakSent = r.requestExpected(now, f, out)
	}
}

func (inOrder) advance(packets int32) int32 { return packets }

func (inOrder) urgent(ends bool) bool { return ends }

func (inOrder) report() frame.SACK { return frame.SACK{} }

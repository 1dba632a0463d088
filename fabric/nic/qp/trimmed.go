package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// trimmed handles a packet of the sender whose payload a switch cut off. No notification point
// and no memory receives it. It is counted, and requested again if the sender sprays. Otherwise it
// is discarded, as if it had been lost. What it asks of receiver credit counts.
func (r *Responder) trimmed(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r.TrimmedPackets++
	r.RxTrimmed++
	out.Note(fabric.Note{Event: fabric.NewTrimmedIn(f.Len(), r.psnOf(f)), At: now, Flow: r.ID, Priority: r.ClassOf(f), Trace: f.Trace})
	if r.granter != nil {
		r.granter.Packet(now, f.CreditTarget(), r.distance(f), f.Trace)
	}
	if r.early != nil && r.early.receipts != nil {
		r.requestAgain(now, f, out)
	}
}

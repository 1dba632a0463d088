package nic

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// IntakeConfig is the rate at which the host absorbs arriving frames, and the receive
// buffer in which they wait. With an Absorb of 0 the host absorbs frames at once.
type IntakeConfig struct {
	Absorb unit.Rate // of frames with payload, in bytes of frame.Len
	Buffer unit.Bytes
	// XOFF and XON are thresholds of the occupancy of a traffic class. The NIC sends
	// PAUSE above XOFF, and RESUME at or below XON.
	XOFF, XON unit.Bytes
	Quanta    uint16 // pause time of a PAUSE frame, in units of 512 bit times
}

// intake is the receive buffer of a NIC whose host absorbs frames more slowly than the
// link delivers them. Frames are absorbed in order of arrival. Frames of the control
// class bypass the buffer, because they end in the NIC.
//
// Invariant: total is the sum of bytes, and of the lengths of the frames.
type intake struct {
	IntakeConfig
	frames ring.Ring[frame.Frame]
	bytes  [fabric.Priorities]unit.Bytes
	total  unit.Bytes
	due    unit.Time // when the oldest frame is absorbed; Never if the buffer is empty

	// want is the set of classes to pause, signalled the set last signalled to the link
	// partner. A PFC frame is due when they differ, and when half of a PAUSE's time has
	// passed, to refresh it.
	want, signalled uint8 // bit per class
	refresh         unit.Time
}

// newIntake returns an empty receive buffer, or nil if the host absorbs frames at once.
func newIntake(c IntakeConfig) *intake {
	if c.Absorb == 0 {
		return nil
	}
	return &intake{IntakeConfig: c, due: unit.Never, refresh: unit.Never}
}

// cost returns the time that the host needs to absorb a frame. It is 0 for a frame
// without payload, which ends in the NIC.
func (k *intake) cost(f *frame.Frame) unit.Time {
	if f.Payload == 0 {
		return 0
	}
	return k.Absorb.Serialise(f.Len())
}

// bufferArrival buffers an arriving frame, or drops it if the buffer is full.
func (n *NIC) bufferArrival(now unit.Time, f *frame.Frame, out *fabric.Out) {
	k := n.intake
	class, length := n.cfg.DSCP[f.DSCP()], f.Len()
	if k.total+length > k.Buffer {
		n.stats.IntakeDrops++
		n.stats.Priorities[class].RxDiscards++
		out.Lost(fabric.Note{
			Event: fabric.NewDropped(length, fabric.DropHeadroom), At: now,
			Flow: fabric.NoFlow, Priority: class, Trace: f.Trace,
		}, f)
		return
	}
	if k.frames.Len() == 0 {
		k.due = now + k.cost(f)
	}
	*k.frames.Next() = *f
	k.total += length
	k.bytes[class] += length
	n.stats.IntakePeak = max(n.stats.IntakePeak, k.total)
	if k.bytes[class] > k.XOFF {
		k.want |= 1 << class
	}
}

// absorb handles the frames that the host has absorbed by now.
func (n *NIC) absorb(now unit.Time, out *fabric.Out) {
	k := n.intake
	for k.due <= now {
		f := k.frames.Pop()
		class, length := n.cfg.DSCP[f.DSCP()], f.Len()
		k.total -= length
		k.bytes[class] -= length
		if k.bytes[class] <= k.XON {
			k.want &^= 1 << class
		}
		if k.frames.Len() > 0 {
			k.due += k.cost(k.frames.Front())
		} else {
			k.due = unit.Never
		}
		n.handle(now, f.Class(), &f, out)
	}
}

// pfcDue returns the earliest instant to send a PFC frame.
func (k *intake) pfcDue() unit.Time {
	switch {
	case k == nil:
		return unit.Never
	case k.want != k.signalled:
		return 0
	}
	return k.refresh
}

// sendPFC writes a PFC frame with the classes to pause and to resume into f. It returns
// the frame's length.
func (n *NIC) sendPFC(now unit.Time, f *frame.Frame, out *fabric.Out) unit.Bytes {
	k := n.intake
	pfc := frame.PFC{Source: frame.HostMAC(n.cfg.Host), Enable: k.want | k.signalled}
	k.refresh = unit.Never
	for set := pfc.Enable; set != 0; set &= set - 1 {
		class := fabric.Priority(bits.TrailingZeros8(set))
		note := fabric.Note{Event: fabric.NewResumeSent(k.bytes[class]), At: now, Flow: fabric.NoFlow, Priority: class}
		if k.want>>class&1 != 0 {
			note.Event = fabric.NewPauseSent(k.Quanta, k.bytes[class])
			pfc.Quanta[class] = k.Quanta
			k.refresh = now + n.cfg.Rate.Serialise(unit.Bytes(k.Quanta)*quantumBytes)/2
			n.stats.Priorities[class].TxPause++
			fabric.First(&n.stats.Priorities[class].PauseSent, now)
		}
		out.Note(note)
	}
	k.signalled = k.want
	f.Trace = 0
	pfc.Build(f)
	return f.Len()
}

// Intake returns the bytes of a class in the receive buffer, and the thresholds: the NIC
// sends PAUSE above xoff, and RESUME at or below xon. ok is false if the host absorbs
// frames at once; such a NIC never sends PAUSE.
func (n *NIC) Intake(class fabric.Priority) (bytes, xoff, xon unit.Bytes, ok bool) {
	if n.intake == nil {
		return 0, 0, 0, false
	}
	return n.intake.bytes[class], n.intake.XOFF, n.intake.XON, true
}

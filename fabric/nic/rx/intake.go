package rx

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Intake is the receive buffer of a NIC. Frames wait in it if the host absorbs them, or the
// NIC translates their addresses, more slowly than the link delivers them. They are
// absorbed in order of arrival.
//
// Invariant: total is the sum of the occupancies of the classes, and of the lengths of
// the frames.
type Intake struct {
	Config
	port   Port
	atu    translator
	frames ring.Ring[arrival]
	total  unit.Bytes
	peak   unit.Bytes
	due    unit.Time // when the oldest frame is absorbed; Never if the buffer is empty

	// want is the set of classes to pause, signalled the set last signalled to the link
	// partner. A PFC frame is due when they differ, and when half of a PAUSE's time has
	// passed, to refresh it.
	want, signalled uint8     // bit per class
	refresh         unit.Time // when to refresh; Never if no class is paused
	pfcDue          unit.Time // 0 if want and signalled differ, else refresh
	classes         [fabric.Priorities]intakeClass
}

// Port is the port whose link partner receives the PFC frames.
type Port struct {
	Source frame.Addr // of PFC frames
	Rate   unit.Rate  // of the link
}

// arrival is a frame in the buffer.
type arrival struct {
	frame.Frame
	class fabric.Priority
	ready unit.Time // when its addresses are translated
}

// intakeClass is the state of a traffic class in the buffer.
type intakeClass struct {
	bytes unit.Bytes
	stats IntakeStats
}

// IntakeStats counts the drops and the PAUSE frames of one traffic class.
type IntakeStats struct {
	RxDiscards uint64    // packets dropped because the receive buffer was full
	TxPause    uint64    // PAUSE frames sent for the class
	PauseSent  unit.Time // the first of them, 0 if there was none
}

// NewIntake returns the empty receive buffer of a port.
func NewIntake(c Config, p Port) Intake {
	return Intake{Config: c, port: p, atu: newTranslator(c.Translation), due: unit.Never, refresh: unit.Never, pfcDue: unit.Never}
}

// Immediate reports whether the host absorbs frames at once, so that none is buffered.
func (k *Intake) Immediate() bool { return k.immediate() }

// cost returns the time that the host needs to absorb a frame. It is 0 for a frame
// without payload, which ends in the NIC.
func (k *Intake) cost(f *frame.Frame) unit.Time {
	if f.Payload == 0 || k.Absorb == 0 {
		return 0
	}
	return k.Absorb.Serialise(f.Len())
}

// Put buffers an arriving frame of a class, or drops it if the buffer is full.
func (k *Intake) Put(now unit.Time, class fabric.Priority, f *frame.Frame, out *fabric.Out) {
	c, length := &k.classes[class], f.Len()
	if k.total+length > k.Buffer {
		c.stats.RxDiscards++
		out.Lost(fabric.Note{
			Event: fabric.NewDropped(length, fabric.DropHeadroom), At: now,
			Flow: fabric.NoFlow, Priority: class, Trace: f.Trace,
		}, f)
		return
	}
	ready := k.atu.translate(now, f)
	if k.frames.Len() == 0 {
		k.due = ready + k.cost(f)
	}
	a := k.frames.Next()
	a.Frame, a.class, a.ready = *f, class, ready
	k.total += length
	k.peak = max(k.peak, k.total)
	if c.bytes += length; c.bytes > k.XOFF {
		k.pause(k.want | 1<<class)
	}
}

// Due returns the instant at which the oldest frame is absorbed, Never if the buffer is
// empty.
func (k *Intake) Due() unit.Time { return k.due }

// Take removes and returns the oldest frame, which is due.
func (k *Intake) Take() frame.Frame {
	a := k.frames.Pop()
	c, length := &k.classes[a.class], a.Len()
	k.total -= length
	if c.bytes -= length; c.bytes <= k.XON {
		k.pause(k.want &^ (1 << a.class))
	}
	if k.frames.Len() > 0 {
		next := k.frames.Front()
		k.due = max(k.due, next.ready) + k.cost(&next.Frame)
	} else {
		k.due = unit.Never
	}
	return a.Frame
}

// pause sets the classes to pause.
func (k *Intake) pause(want uint8) {
	k.want = want
	if k.pfcDue = k.refresh; want != k.signalled {
		k.pfcDue = 0
	}
}

// PFCDue returns the earliest instant to send a PFC frame, Never if none is due.
func (k *Intake) PFCDue() unit.Time { return k.pfcDue }

// BuildPFC writes a PFC frame with the classes to pause and to resume into f.
func (k *Intake) BuildPFC(now unit.Time, f *frame.Frame, out *fabric.Out) {
	pfc := frame.PFC{Source: k.port.Source, Enable: k.want | k.signalled}
	k.refresh = unit.Never
	for set := pfc.Enable; set != 0; set &= set - 1 {
		class := fabric.Priority(bits.TrailingZeros8(set))
		c := &k.classes[class]
		note := fabric.Note{Event: fabric.NewResumeSent(c.bytes), At: now, Flow: fabric.NoFlow, Priority: class}
		if k.want>>class&1 != 0 {
			note.Event = fabric.NewPauseSent(k.Quanta, c.bytes)
			pfc.Quanta[class] = k.Quanta
			k.refresh = now + duration(k.port.Rate, k.Quanta)/2
			c.stats.TxPause++
			fabric.First(&c.stats.PauseSent, now)
		}
		out.Note(note)
	}
	k.signalled, k.pfcDue = k.want, k.refresh
	f.Trace = 0
	pfc.Build(f)
}

// Bytes returns the occupancy of a class.
func (k *Intake) Bytes(class fabric.Priority) unit.Bytes { return k.classes[class].bytes }

// Total returns the occupancy of the buffer.
func (k *Intake) Total() unit.Bytes { return k.total }

// Peak returns the peak occupancy of the buffer.
func (k *Intake) Peak() unit.Bytes { return k.peak }

// Translations returns the counters of the address translation.
func (k *Intake) Translations() TranslationStats { return k.atu.stats }

// Stats returns the counters of a class.
func (k *Intake) Stats(class fabric.Priority) IntakeStats { return k.classes[class].stats }

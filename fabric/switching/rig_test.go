package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	lossless fabric.Priority = 3
	lossy    fabric.Priority = 1
	control  fabric.Priority = 6

	us = unit.Microsecond
	ns = unit.Nanosecond

	// A frame of 1000 bytes lasts 200 ns at the 40 Gbit/s of every test port.
	size    = 1000
	slot    = 200 * ns
	delay   = 5 * us
	pfcTime = 64 * 200 * unit.Picosecond
)

// rackConfig is a switch with one host on each port: class 3 is lossless and
// NP-ECN, class 6 strict, DSCP 8c in class c. Hosts ports and above do not exist.
func rackConfig(ports int) Config {
	cfg := Config{Name: "s0", MAC: frame.SwitchMAC(0), Seed: 1, Buffer: 12 * unit.Megabyte, Arbitration: ArbitrateFIFO}
	for i := range ports {
		cfg.Ports = append(cfg.Ports, PortConfig{Rate: 40 * unit.GigabitPerSec, Delay: delay, MTU: 1500})
		cfg.Routes = append(cfg.Routes, []fabric.Port{fabric.Port(i)})
	}
	cfg.Balance = balance.Default()
	for i := range cfg.Classes {
		cfg.Weights[i] = 1
		cfg.Classes[i].AlphaShift = 3
	}
	cfg.Weights[control] = 0
	cfg.Classes[lossless] = ClassConfig{
		Lossless: true, XOFF: 100 * size, XON: 10 * size,
		Headroom: 50 * size, Quanta: 1000, Marking: cc.MarkNPECN,
	}
	for i := range cfg.DSCP {
		cfg.DSCP[i] = fabric.Priority(i / 8)
	}
	return cfg
}

// data returns an ECT(0) frame of 1000 bytes to a host.
func data(to int, flow uint32, class fabric.Priority) *frame.Frame {
	return packet(to, flow, class, frame.ECT0, 0, size)
}

func packet(to int, flow uint32, class fabric.Priority, ecn frame.ECN, psn uint32, length uint32) *frame.Frame {
	p := frame.Packet{
		Src: frame.HostIP(100), Dst: frame.HostIP(to), DSCP: uint8(class) * 8, ECN: ecn, TTL: 64,
		SrcPort: uint16(flow) + 49152, Payload: length - 62,
		BTH: frame.BTH{Opcode: frame.WriteMiddle, DestQP: frame.ReceiverQP(flow), PSN: psn},
	}
	var f frame.Frame
	p.Build(&f)
	f.Trace = uint64(psn)
	return &f
}

// pause returns a PFC frame for one class; quanta 0 resumes.
func pause(class fabric.Priority, quanta uint16) *frame.Frame {
	p := frame.PFC{Source: frame.HostMAC(0), Enable: 1 << class}
	p.Quanta[class] = quanta
	var f frame.Frame
	p.Build(&f)
	return &f
}

// rig drives one switch in the order of time and keeps all of its output.
type rig struct {
	*Switch
	t   testing.TB
	out fabric.Out
	// after, if set, is called after each call to the switch.
	after func()
}

func newRig(t testing.TB, cfg Config) *rig {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Switch: s, t: t, after: func() {}}
}

// arrive handles everything due before now, then lets the frame arrive.
func (r *rig) arrive(now unit.Time, at fabric.Port, f *frame.Frame) {
	r.run(now - 1)
	r.Arrive(now, at, f, &r.out)
	r.after()
}

// run handles everything due up to and including the instant.
func (r *rig) run(until unit.Time) {
	for {
		next, ok := r.Next()
		if !ok || next > until {
			return
		}
		r.Tick(next, &r.out)
		r.after()
		if after, ok := r.Next(); ok && after <= next {
			r.t.Fatalf("a tick at %v leaves something due at %v", next, after)
		}
	}
}

// sent returns the data frames that left by the port.
func (r *rig) sent(at fabric.Port) []frame.Frame { return r.leaving(at, frame.ClassRoCE) }

func (r *rig) leaving(at fabric.Port, class frame.Class) []frame.Frame {
	var frames []frame.Frame
	for i := range r.out.Sends {
		if s := &r.out.Sends[i]; s.Port == at && s.Frame.Class() == class {
			frames = append(frames, *s.Frame)
		}
	}
	return frames
}

// notes returns the notes of a kind.
func (r *rig) notes(kind fabric.Kind) []fabric.Note {
	var notes []fabric.Note
	for _, n := range r.out.Notes {
		if n.Kind == kind {
			notes = append(notes, n)
		}
	}
	return notes
}

// marks returns the data frames that left by port 0 as letters: M marked, - not.
func (r *rig) marks() string {
	var marks []byte
	for _, f := range r.sent(0) {
		if f.ECN() == frame.CE {
			marks = append(marks, 'M')
		} else {
			marks = append(marks, '-')
		}
	}
	return string(marks)
}

// wantMarks compares port 0's frames with want, one letter each.
func (r *rig) wantMarks(want string) {
	r.t.Helper()
	if got := r.marks(); got != want {
		r.t.Errorf("port 0 sent %q, want %q", got, want)
	}
}

// entries returns the queued entries, lane by lane.
func (q *queue) entries() (all []*entry) {
	for i := range q.lanes {
		lane := &q.lanes[i]
		for k := range lane.Len() {
			all = append(all, lane.At(k))
		}
	}
	return all
}

// pfc returns the parsed PFC frames that left by the port.
func (r *rig) pfc(at fabric.Port) []frame.PFC {
	r.t.Helper()
	var all []frame.PFC
	for _, f := range r.leaving(at, frame.ClassPFC) {
		var p frame.PFC
		if err := p.Parse(&f); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

package switching

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The converter turns ECN into RTT (package rttx). It sees every RoCEv2 frame at
// the start of its transmission, when the marking law has spoken:
//
//	data, in a class that is rewritten      counted; CE cleared
//	ACK or NAK with timestamps, any class   T_r or T_s rewritten while the flow is congested
//	anything else                           left as it is
//
// A CNP is in no way touched: its ECN field may be a message of its own (PCN §5.2).

// rewrites are the values of ClassConfig.Rewrite.
var rewrites = []cc.Rewrite{"", cc.RewriteNone, cc.RewriteRTTX}

// converter is the switch's, one for all the classes that are rewritten.
type converter struct {
	*rttx.Converter
	cfg     rttx.Params
	classes classSet
}

// newConverter gives nil if no class is rewritten. cfg is valid.
func newConverter(cfg *Config) *converter {
	c := converter{cfg: cfg.RTTX.Params, classes: cfg.rewritten()}
	if c.classes == 0 {
		return nil
	}
	rates := make([]unit.Rate, len(cfg.Ports))
	for i := range cfg.Ports {
		rates[i] = cfg.Ports[i].Rate
	}
	c.Converter = rttx.New(c.cfg, cfg.RTTX.Pairs, cfg.Buffer, rates)
	return &c
}

// rewritten gives the classes whose marks are turned into RTT.
func (c *Config) rewritten() (set classSet) {
	for i := range c.Classes {
		if c.Classes[i].Rewrite == cc.RewriteRTTX {
			set |= 1 << i
		}
	}
	return set
}

func (c *Config) validateRTTX() error {
	if c.rewritten() == 0 {
		return nil
	}
	if err := c.RTTX.Validate(); err != nil {
		return fmt.Errorf("rttx: %w", err)
	}
	return nil
}

// setIncrement sets the base increment D while the switch runs, and tells whether
// it can: a class must be rewritten, and d in range.
func (s *Switch) setIncrement(d unit.Time) bool {
	if s.converter == nil || d < 0 || d > rttx.MaxD {
		return false
	}
	s.converter.SetD(d)
	return true
}

// passing is a frame whose transmission starts.
type passing struct {
	*frame.Frame
	arrived unit.Time // when it was in
	mark    bool      // the marking law wants it marked
}

// convert shows the converter a frame of the class. It gives whether the frame is
// still to be marked: the mark of a frame that was counted is its count.
func (s *Switch) convert(now unit.Time, p *port, class fabric.Priority, f passing, out *fabric.Out) bool {
	if f.Class() != frame.ClassRoCE {
		return f.mark
	}
	switch op := f.Opcode(); {
	case op == frame.Acknowledge && f.Timestamped():
		s.rewrite(now, p, class, f.Frame, out)
	case s.converter.classes&(1<<class) != 0 && (op.IsData() || op == frame.ReadRequest):
		return s.count(now, p, class, f, out)
	}
	return f.mark
}

// count takes a forward packet: P, P_e and the level of its flow, and no CE any
// more. The packet of a flow that is not in the table stays as it is.
func (s *Switch) count(now unit.Time, p *port, class fabric.Priority, f passing, out *fabric.Out) bool {
	marked := f.ECN() == frame.CE
	event := marked || f.mark || s.congested(now, p, class, f.arrived)
	v := s.converter.Forward(now, fieldsOf(f.Frame), event)
	note := fabric.Note{At: now, Port: p.id, Priority: class, Flow: FlowOf(f.Frame), Trace: f.Trace}
	if !v.Counted {
		note.Kind = fabric.Untracked
		if v.Collided {
			note.A = 1
		}
		out.Note(note)
		return f.mark
	}
	if marked {
		f.SetECN(clears[s.converter.cfg.Clear])
	}
	if event && !out.Quiet {
		note.Kind, note.A = fabric.EventCounted, int64(p.queues[class].bytes)
		out.Note(note)
	}
	if v.Level != v.Was {
		note.Kind, note.A, note.B = fabric.LevelChanged, int64(v.Level), int64(v.Was)
		out.Note(note)
	}
	return false
}

// clears gives what stands in the place of CE.
var clears = map[rttx.Clear]frame.ECN{rttx.ClearNotECT: frame.NotECT, rttx.ClearECT0: frame.ECT0}

// congested is the switch's own judgement of a packet that leaves: the queue that
// it leaves behind, its time in the switch, or the shared buffer in use.
func (s *Switch) congested(now unit.Time, p *port, class fabric.Priority, arrived unit.Time) bool {
	cfg := &s.converter.cfg
	switch cfg.Judge {
	case rttx.JudgeQueue:
		return p.queues[class].bytes >= cfg.Queue
	case rttx.JudgeDelay:
		return now-arrived >= cfg.Delay
	case rttx.JudgeOccupancy:
		return s.buffer.shared >= cfg.Occupancy
	default:
		return false
	}
}

// rewrite gives a return packet the increment of its flow: T_r put forward, or T_s
// put back, modulo 2^32 ns. The ICRC that covers them is made where the frame
// leaves the fabric; no other checksum does.
func (s *Switch) rewrite(now unit.Time, p *port, class fabric.Priority, f *frame.Frame, out *fabric.Out) {
	level, increment := s.converter.Return(now, fieldsOf(f))
	if level == 0 {
		return
	}
	t := f.Timestamps()
	if s.converter.cfg.Stamp == rttx.StampSent {
		t.Sent -= frame.StampOf(increment)
	} else {
		t.Received += frame.StampOf(increment)
	}
	f.SetTimestamps(t)
	if !out.Quiet {
		out.Note(fabric.Note{
			Kind: fabric.Rewritten, At: now, Port: p.id, Priority: class,
			A: int64(increment), B: int64(level), Flow: FlowOf(f), Trace: f.Trace,
		})
	}
}

// fieldsOf gives what tells the flow of a RoCEv2 frame. The port that announces
// telemetry stands where the flow's own is.
func fieldsOf(f *frame.Frame) rttx.Fields {
	fields := rttx.Fields{
		Src: uint32(f.SrcIP()), Dst: uint32(f.DstIP()),
		SrcPort: f.SrcPort(), DstPort: f.DstPort(), QP: f.DestQP(),
	}
	if f.Carrier() != frame.CarrierNone {
		fields.DstPort = frame.PortRoCE
	}
	return fields
}

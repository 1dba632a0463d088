package switching

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The converter turns ECN into RTT (package rttx). It counts a forward packet on
// reception ([0047], [0049]), before the packet waits in its queue. It rewrites a
// return packet when its transmission starts, by the latest level:
//
//	data, in a rewritten class              on arrival: counted; CE cleared
//	ACK, NAK or probe response with
//	timestamps, any class                   T_r or T_s rewritten while the flow is congested
//	anything else                           unchanged
//
// CNPs are never changed: their ECN field may carry a message of its own (PCN §5.2).

// rewrites lists the valid values of ClassConfig.Rewrite.
var rewrites = []cc.Rewrite{"", cc.RewriteNone, cc.RewriteRTTX}

// converter is the one converter of a switch, for all rewritten classes.
type converter struct {
	*rttx.Converter
	cfg     rttx.Params
	classes classSet
}

// newConverter returns nil if no class is rewritten. cfg is valid.
func newConverter(cfg *Config) *converter {
	c := converter{cfg: cfg.RTTX.Params, classes: cfg.rewritten()}
	if c.classes == 0 {
		return nil
	}
	rates := make([]unit.Rate, len(cfg.Ports))
	for i := range cfg.Ports {
		rates[i] = cfg.Ports[i].Rate
	}
	c.Converter = rttx.New(c.cfg, nil, cfg.Buffer, rates)
	c.addFlows(cfg.RTTX.Flows)
	c.addConnections(cfg.RTTX.Connections)
	return &c
}

// addFlows adds the queue pairs of flows.
func (c *converter) addFlows(flows []fabric.Flow) {
	for i := range flows {
		f := &flows[i]
		c.learn(f.ID, f.From, f.To, f.Source)
	}
}

// addConnections adds the queue pairs of commands. The responses to READ requests, in the
// other direction, are not acknowledged, so that they have no return packets.
func (c *converter) addConnections(connections []fabric.Connection) {
	for i := range connections {
		k := &connections[i]
		c.learn(k.ID, k.From, k.To, k.Source)
	}
}

// learn adds the queue pair that sends the data or the requests of a flow or connection.
func (c *converter) learn(id fabric.FlowID, from, to int, source uint16) {
	c.Learn(rttx.Pair{
		Forward: rttx.Fields{
			Src: uint32(frame.HostIP(from)), Dst: uint32(frame.HostIP(to)),
			SrcPort: source, DstPort: frame.PortRoCE, QP: frame.ReceiverQP(uint32(id)),
		},
		ReturnQP: frame.SenderQP(uint32(id)),
	})
}

// rewritten returns the classes whose marks are converted into RTT.
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

// setIncrement sets the base increment D of the running switch. It reports whether
// it could: a class must be rewritten, and d must be in range.
func (s *Switch) setIncrement(d unit.Time) bool {
	if s.converter == nil || d < 0 || d > rttx.MaxD {
		return false
	}
	s.converter.SetD(d)
	return true
}

// count counts a forward packet that has just joined its queue: it updates P, P_e
// and the level of the flow, and clears CE. The packet of a flow that is not in the
// table is unchanged.
func (s *Switch) count(now unit.Time, p *port, class fabric.Priority, e *entry, out *fabric.Out) {
	f := e.frame
	if s.converter.classes&(1<<class) == 0 || f.Class() != frame.ClassRoCE || !forward(f.Opcode()) {
		return
	}
	marked, found := f.ECN() == frame.CE, p.queues[class].bytes-e.length
	event := marked || s.marker.decideOnArrival(p, class, found) || s.congested(now, p, class, e)
	v := s.converter.Forward(now, fieldsOf(f), event)
	if e.counted = v.Counted; !v.Counted {
		noteFrame(now, p.id, class, fabric.NewUntracked(v.Collided), f, out)
		return
	}
	if marked {
		f.SetECN(clears[s.converter.cfg.Clear])
	}
	if event {
		noteFrame(now, p.id, class, fabric.NewEventCounted(found), f, out)
	}
	if v.Level != v.Was {
		noteFrame(now, p.id, class, fabric.NewLevelChanged(v.Level, v.Was), f, out)
	}
}

// forward reports whether a packet travels in its flow's direction: data or a request
// of a READ or an atomic operation ([0026]).
func forward(op frame.Opcode) bool {
	return op.IsData() || op == frame.ReadRequest || op.HasAtomic()
}

// clears maps each Clear to the ECN codepoint that replaces CE.
var clears = map[rttx.Clear]frame.ECN{rttx.ClearNotECT: frame.NotECT, rttx.ClearECT0: frame.ECT0}

// congested reports whether the switch itself finds congestion for a packet that has
// just arrived: by the queue in front of it, by its expected delay, or by the shared
// buffer in use ([0045]).
func (s *Switch) congested(now unit.Time, p *port, class fabric.Priority, e *entry) bool {
	cfg, q := &s.converter.cfg, &p.queues[class]
	switch cfg.Judge {
	case rttx.JudgeQueue:
		return q.bytes-e.length >= cfg.Queue
	case rttx.JudgeDelay:
		return p.wait(now, q.bytes-e.length, q.count-1) >= cfg.Delay
	case rttx.JudgeOccupancy:
		return s.buffer.shared >= cfg.Occupancy
	default:
		return false
	}
}

// wait returns how long a frame waits at the port: for the rest of the frame in
// transmission and for the given bytes in the given number of frames. Pauses and
// other classes can add to it.
func (p *port) wait(now unit.Time, bytes unit.Bytes, frames int) unit.Time {
	return max(p.freeAt-now, 0) + p.Rate.Serialise(bytes+unit.Bytes(frames)*p.Overhead)
}

// rewrite adds the flow's increment to a return packet that measures an RTT: it
// advances T_r or sets back T_s, modulo 2^32 ns. The ICRC over them is computed where
// the frame leaves the fabric. No other checksum covers them.
func (s *Switch) rewrite(now unit.Time, p *port, class fabric.Priority, f *frame.Frame, out *fabric.Out) {
	if f.Class() != frame.ClassRoCE || !f.Opcode().MeasuresRTT() || !f.Timestamped() {
		return
	}
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
	noteFrame(now, p.id, class, fabric.NewRewritten(increment, level), f, out)
}

// fieldsOf returns the fields that identify the flow of a RoCEv2 frame. It replaces
// the port number of telemetry by that of RoCEv2.
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

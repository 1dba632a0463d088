package switching

import (
	"math/bits"
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// QCNConfig holds the settings of a congestion point of quantised congestion
// notification (IEEE 802.1Qau). The defaults of the standard are those of
// IEEE8021-CN-MIB.
type QCNConfig struct {
	// SetPoint is Qeq, the queue that the congestion point aims at, in bytes
	// (cnCpQueueSizeSetPoint, 26000).
	SetPoint unit.Bytes
	// Weight is w, how much the growth of the queue counts beside its length
	// (2 to the power of cnCpFeedbackWeight, which is 1).
	Weight int
	// SampleBase is how many bytes pass from one sample to the next where there is
	// no congestion (cnCpMinSampleBase, 150000).
	SampleBase unit.Bytes
	// Jitter is how far the bytes between two samples may be off, as a part of them,
	// either way, 0 to 1.
	Jitter float64
	// AtDeparture samples the frames that leave the queue instead of those that
	// join it.
	AtDeparture bool
}

// qcn is the congestion point of QCN for one egress queue. When left bytes have
// passed, the frame that passes is a sample:
//
//	Fb = -(Qoff + w Qdelta)        Qoff   = Q - Qeq
//	CNM to the frame's sender      Qdelta = Q - Q at the sample before
//	  if the quantised |Fb| > 0    left  := interval of |Fb|, jittered
//
// A sample is taken as a frame joins the queue, Q counting that frame, or as one
// leaves it, Q counting those behind it.
type qcn struct {
	old  unit.Bytes // the queue at the sample before
	left unit.Bytes // to pass until the next sample
}

// pass counts a frame, and tells whether it is the one to sample.
func (c *qcn) pass(length unit.Bytes) bool {
	c.left -= length
	return c.left <= 0
}

// feedback gives Fb of a queue of q bytes, in bytes; below 0 is congestion.
func (cfg *QCNConfig) feedback(q, old unit.Bytes) unit.Bytes {
	return -((q - cfg.SetPoint) + unit.Bytes(cfg.Weight)*(q-old))
}

// quantise gives |Fb| in 6 bits: 0 for no congestion, 63 for Qeq(2w+1) and
// beyond, and evenly in between.
func (cfg *QCNConfig) quantise(fb unit.Bytes) uint8 {
	most := cfg.SetPoint * unit.Bytes(2*cfg.Weight+1)
	return uint8(max(0, min(most, -fb)) * frame.MaxFeedback / most)
}

// sampleTable is the interval between two samples by the upper three bits of the
// feedback, in 300ths of the base: 150, 75, 50, 37.5, 30, 25, 21.5 and 18.5 KB
// where that is 150 KB. With frames of 1500 bytes that is 1 % to 8 % of them.
var sampleTable = [8]unit.Bytes{300, 150, 100, 75, 60, 50, 43, 37}

// interval gives the bytes until the next sample, off by as much as Jitter
// either way.
func (cfg *QCNConfig) interval(feedback uint8, random *rand.PCG) unit.Bytes {
	bytes := cfg.SampleBase * sampleTable[feedback/8] / 300
	span := unit.Bytes(float64(bytes) * cfg.Jitter)
	off, _ := bits.Mul64(random.Uint64(), uint64(2*span+1))
	return bytes - span + unit.Bytes(off)
}

// judge shows the congestion point of p a frame that has joined its queue, or left
// it, and sends a CNM if that is called for. CNMs themselves are counted, but not
// answered.
func (s *Switch) judge(now unit.Time, p *port, in incoming, out *fabric.Out) {
	point, cfg := &p.qcn[in.class], &s.cfg.Classes[in.class].QCN
	if !point.pass(in.length) || in.frame.Class() == frame.ClassCNM {
		return
	}
	q := p.queues[in.class].bytes
	offset, delta := q-cfg.SetPoint, q-point.old
	feedback := cfg.quantise(cfg.feedback(q, point.old))
	point.old = q
	point.left = cfg.interval(feedback, &s.jitter)
	if feedback == 0 {
		return
	}
	message := frame.CNM{
		Src: s.cfg.MAC, Feedback: feedback, CPID: s.cpid(p.id, in.class),
		QOffset: frame.CNMQueue(offset), QDelta: frame.CNMQueue(delta), Priority: uint8(in.class),
	}
	message.Take(in.frame)
	p.stats[in.class].CNMsSent++
	out.Note(fabric.Note{
		Kind: fabric.CNMSent, At: now, Port: p.id, Priority: in.class,
		A: int64(feedback), B: int64(q), Flow: FlowOf(in.frame), Trace: in.frame.Trace,
	})
	s.originate(now, in, &message, out)
}

// originate sends a CNM the way of any frame, as if it had come in where the
// sampled frame did: its buffer is on that port's account.
func (s *Switch) originate(now unit.Time, sampled incoming, message *frame.CNM, out *fabric.Out) {
	f := &s.cnm
	message.Build(f)
	f.Arrival, f.Trace = now, sampled.frame.Trace
	in := incoming{frame: f, at: sampled.at, class: s.cfg.CNMClass, length: f.Len()}
	account := &s.ports[in.at].stats[in.class]
	account.OriginatedFrames++
	account.OriginatedBytes += in.length
	to, ok := s.ecmp.route(message.Dst.Host(), f)
	s.place(now, in, to, ok, out)
}

// cpid names the congestion point of a port and class: the switch's address, 13
// bits of port, 3 of class.
func (s *Switch) cpid(id fabric.Port, class fabric.Priority) uint64 {
	var n uint64
	for _, b := range s.cfg.MAC {
		n = n<<8 | uint64(b)
	}
	return n<<16 | uint64(uint16(id)<<3) | uint64(class)
}

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
	// SetPoint is Qeq, the target queue length of the congestion point, in bytes
	// (cnCpQueueSizeSetPoint, 26000).
	SetPoint unit.Bytes
	// Weight is w, the weight of the queue's growth relative to its length
	// (2 to the power of cnCpFeedbackWeight, which is 1).
	Weight int
	// SampleBase is the number of bytes between two samples without congestion
	// (cnCpMinSampleBase, 150000).
	SampleBase unit.Bytes
	// Jitter is the largest deviation of the sampling interval in either direction,
	// as a fraction of it, 0 to 1.
	Jitter float64
	// AtDeparture samples frames as they leave the queue instead of as they join
	// it.
	AtDeparture bool
}

// qcn is the congestion point of QCN for one egress queue. After left bytes, the
// next frame is sampled:
//
//	Fb = -(Qoff + w Qdelta)        Qoff   = Q - Qeq
//	CNM to the frame's sender      Qdelta = Q - Q at the sample before
//	  if the quantised |Fb| > 0    left  := interval of |Fb|, jittered
//
// A frame is sampled as it joins the queue, with Q including the frame, or as it
// leaves the queue, with Q excluding it.
type qcn struct {
	old  unit.Bytes // queue length at the last sample
	left unit.Bytes // bytes until the next sample
}

// pass counts a frame and reports whether it is to be sampled.
func (c *qcn) pass(length unit.Bytes) bool {
	c.left -= length
	return c.left <= 0
}

// feedback returns Fb for a queue of q bytes, in bytes. Below 0 is congestion.
func (cfg *QCNConfig) feedback(q, old unit.Bytes) unit.Bytes {
	return -((q - cfg.SetPoint) + unit.Bytes(cfg.Weight)*(q-old))
}

// quantise returns |Fb| in 6 bits: 0 without congestion, 63 for Qeq(2w+1) and above,
// linear in between.
func (cfg *QCNConfig) quantise(fb unit.Bytes) uint8 {
	most := cfg.SetPoint * unit.Bytes(2*cfg.Weight+1)
	return uint8(max(0, min(most, -fb)) * frame.MaxFeedback / most)
}

// sampleTable lists the interval between two samples by the upper three bits of the
// feedback, in 300ths of the base. With a base of 150 KB these are 150, 75, 50, 37.5,
// 30, 25, 21.5 and 18.5 KB: 1 % to 8 % of frames of 1500 bytes.
var sampleTable = [8]unit.Bytes{300, 150, 100, 75, 60, 50, 43, 37}

// interval returns the bytes until the next sample, with a deviation of at most
// Jitter in either direction.
func (cfg *QCNConfig) interval(feedback uint8, random *rand.PCG) unit.Bytes {
	bytes := cfg.SampleBase * sampleTable[feedback/8] / 300
	span := unit.Bytes(float64(bytes) * cfg.Jitter)
	off, _ := bits.Mul64(random.Uint64(), uint64(2*span+1))
	return bytes - span + unit.Bytes(off)
}

// judge passes a frame that joined or left its queue to the congestion point of p. It
// sends a CNM if the feedback requires one. CNMs themselves count as bytes, but never
// cause a CNM.
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
	noteFrame(now, p.id, in.class, fabric.NewCNMSent(feedback, q), in.frame, out)
	s.originate(now, in, &message, out)
}

// originate routes a CNM as if it had arrived where the sampled frame did. Its buffer
// is charged to that ingress port.
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

// cpid returns the ID of the congestion point of a port and class: the switch's MAC
// address, 13 bits of port, 3 bits of class.
func (s *Switch) cpid(id fabric.Port, class fabric.Priority) uint64 {
	var n uint64
	for _, b := range s.cfg.MAC {
		n = n<<8 | uint64(b)
	}
	return n<<16 | uint64(uint16(id)<<3) | uint64(class)
}

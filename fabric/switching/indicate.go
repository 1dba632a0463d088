package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// indicate makes the switch the indicating end (¶9 of the document on CETH). It
// writes indication and degree into a passing ACK, by the queue of this switch for the
// data that the ACK answers. This needs no flow state and no new ICRC, which does not
// cover BECN and the reserved bits beside it. An ACK that already indicates the same
// or more congestion is unchanged. p and class are the egress of the ACK.
func (s *Switch) indicate(p *port, class fabric.Priority, f *frame.Frame) {
	if f.Class() != frame.ClassRoCE || f.Opcode() != frame.Acknowledge {
		return
	}
	to, ok := s.ecmp.back(f)
	if !ok {
		return
	}
	depth, most := s.deepest(&s.ports[to])
	if depth <= most {
		return
	}
	present := frame.ShortOfResv6(f.Resv6())
	ratio := frame.Ratio(s.cfg.Indicate.Class(float64(depth), float64(s.cfg.Indicate.Room)))
	if f.BECN() && present.Ratio >= ratio {
		return
	}
	p.stats[class].IndicatedFrames++
	f.SetBECN(s.cfg.Indicate.short(ratio))
}

// deepest returns the longest queue of the port's classes under RED, and the queue
// length up to which that class is not marked.
func (s *Switch) deepest(p *port) (depth, most unit.Bytes) {
	for class := range p.queues {
		if s.marker.lawAt(p, fabric.Priority(class)) == lawRED && p.queues[class].bytes >= depth {
			depth, most = p.queues[class].bytes, s.cfg.Classes[class].RED.Kmin
		}
	}
	return depth, most
}

// Indication configures how a switch indicates congestion in passing ACKs.
type Indication struct{ cc.CETHParams }

// short returns the first CETH in the configured form, 0 in the mode without
// information.
func (i *Indication) short(ratio frame.Ratio) uint8 {
	switch {
	case i.Mode != cc.CETHInformation:
		return 0
	case i.Form == cc.CETHRatio6:
		return frame.ShortCETH{Ratio: ratio}.Resv6()
	}
	return frame.ShortCETH{Version: frame.CETHVersion, Ratio: ratio}.Resv6()
}

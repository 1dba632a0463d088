package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// indicate is the switch as the end that tells of congestion (¶9 of the document on
// CETH): it writes indication and degree into an ACK that passes, by its own queue of
// the data that the ACK answers. That needs no state of the flow, and no new ICRC:
// BECN and the reserved bits beside it are not in it. An ACK that tells of more
// congestion elsewhere stays as it is. p and class are those that the ACK leaves by.
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
	told := frame.ShortOfResv6(f.Resv6())
	ratio := frame.Ratio(s.cfg.Indicate.Class(float64(depth), float64(s.cfg.Indicate.Room)))
	if f.BECN() && told.Ratio >= ratio {
		return
	}
	p.stats[class].IndicatedFrames++
	f.SetIndication(true, s.cfg.Indicate.short(ratio))
}

// deepest gives the longest queue of the classes that the port marks by RED, and how
// long it may be without a mark.
func (s *Switch) deepest(p *port) (depth, most unit.Bytes) {
	for class := range p.queues {
		if s.marker.law[class] == lawRED && p.queues[class].bytes >= depth {
			depth, most = p.queues[class].bytes, s.cfg.Classes[class].RED.Kmin
		}
	}
	return depth, most
}

// Indication says how a switch tells of congestion in the ACKs that pass.
type Indication struct{ cc.CETHParams }

// short gives the first CETH that the form asks for, nothing in the mode of the
// indication alone.
func (i *Indication) short(ratio frame.Ratio) uint8 {
	switch {
	case i.Mode != cc.CETHInformation:
		return 0
	case i.Form == cc.CETHRatio6:
		return frame.ShortCETH{Ratio: ratio}.Resv6()
	}
	return frame.ShortCETH{Version: frame.CETHVersion, Ratio: ratio}.Resv6()
}

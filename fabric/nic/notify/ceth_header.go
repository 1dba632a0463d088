package notify

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion information in packets: header writes it, ReadACK and ReadCNP read it.

// header returns a CETH of the given number of words with the known items. If nothing
// is known, it returns one word of version 0.
func header(path *cc.Congestion, words uint8, service frame.Service) frame.CETH {
	if path.Known == 0 {
		return frame.CETH{Version: frame.CETHPlain, Words: 1}
	}
	g := frame.Congestion{
		Ratio: frame.Ratio(path.Degree), Enhanced: true, Service: service,
		Switch: frame.NoSwitch, Port: frame.NoPort, Depth: frame.NoDepth, Delay: frame.NoDelay,
	}
	if path.Known&cc.ItemLocation != 0 {
		g.Switch, g.Port = uint8(path.Location>>8), uint8(path.Location)
	}
	if path.Known&cc.ItemDepth != 0 {
		g.Depth = uint32(min(path.Depth, frame.NoDepth-1))
	}
	if path.Known&cc.ItemDelay != 0 {
		g.Delay = uint32(min(path.Delay/unit.Nanosecond, frame.NoDelay-1))
	}
	return g.CETH(words)
}

// ReadACK parses the congestion information of an ACK, NAK or READ request. It returns a
// Congestion with nothing known, a plain notification, if the packet indicates no
// congestion, or if the information is missing or of version 0 or an unknown version. The
// forms with the degree alone have no version; there RatioNone means that nothing is known.
func ReadACK(f *frame.Frame, p *cc.CETHParams) cc.Congestion {
	if !f.BECN() || p.Mode != cc.CETHInformation {
		return cc.Congestion{}
	}
	var short frame.ShortCETH
	switch p.Form {
	case cc.CETHHeader:
		return ReadCNP(f)
	case cc.CETHResv6, cc.CETHRatio6:
		short = frame.ShortOfResv6(f.Resv6())
	case cc.CETHResv7, cc.CETHRatio7:
		short = frame.ShortOfResv7(f.Resv7())
	}
	alone := p.Form == cc.CETHRatio6 || p.Form == cc.CETHRatio7
	if alone && short.Ratio == frame.RatioNone || !alone && short.Version != frame.CETHVersion {
		return cc.Congestion{}
	}
	return ofRatio(short.Ratio)
}

func ofRatio(r frame.Ratio) cc.Congestion {
	return cc.Congestion{Known: cc.ItemDegree, Degree: cc.Degree(r)}
}

// ReadCNP parses the congestion information of an enhanced CNP. Nothing is known after a
// plain one.
func ReadCNP(f *frame.Frame) cc.Congestion {
	h, _ := f.CETH()
	g, ok := h.Congestion()
	if !ok {
		return cc.Congestion{}
	}
	path := ofRatio(g.Ratio)
	if g.Switch != frame.NoSwitch && g.Port != frame.NoPort {
		path.Known |= cc.ItemLocation
		path.Location = int(g.Switch)<<8 | int(g.Port)
	}
	if g.Depth != frame.NoDepth {
		path.Known |= cc.ItemDepth
		path.Depth = unit.Bytes(g.Depth)
	}
	if g.Delay != frame.NoDelay {
		path.Known |= cc.ItemDelay
		path.Delay = unit.Time(g.Delay) * unit.Nanosecond
	}
	return path
}

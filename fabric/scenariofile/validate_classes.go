package scenariofile

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// checkSwitch checks that the thresholds of a switch are consistent and fit its
// links.
func (b *builder) checkSwitch(s *topology.SwitchSettings, src *source, links []topology.Link) {
	b.require(s.Kmin <= s.Kmax, src.of("kmin"), "%s is above kmax %s", s.Kmin, s.Kmax)
	b.require(s.XOFF == 0 || s.XON < s.XOFF, src.of("xon_offset"), "%s is not below xoff %s, so RESUME would never be sent", s.XON, s.XOFF)
	for class := range fabric.Priority(fabric.Priorities) {
		b.checkClass(s, class, src)
	}
	if len(links) > 0 && (len(s.Lossless) > 0 || s.OwnClasses()) {
		b.checkBuffer(s, src, links)
	}
}

// checkClass checks the settings of a class, apart from the links: that they apply to
// its kind, lossless or lossy, and that its thresholds are in order.
func (b *builder) checkClass(s *topology.SwitchSettings, class fabric.Priority, src *source) {
	p, own := s.Profile(class), s.Classes[class]
	at := func(key string) place { return src.of(join(classKey(class), key)) }
	const lossless = "class %d is lossless, want xoff or alpha, or a class that is not in lossless"
	const lossy = "class %d is lossy and never paused, want limit or alpha, or the class in lossless"
	b.require(!p.Lossless || own.Limit == nil, at("limit"), lossless, class)
	b.require(p.Lossless || own.XOFF == nil, at("xoff"), lossy, class)
	b.require(p.Lossless || own.XON == nil, at("xon_offset"), lossy, class)
	b.require(p.Lossless || own.Headroom == nil, at("headroom"), lossy, class)
	if own.Kmin != nil || own.Kmax != nil {
		key := "kmin"
		if own.Kmin == nil {
			key = "kmax"
		}
		b.require(p.Kmin <= p.Kmax, at(key), "class %d has kmin %s above kmax %s", class, p.Kmin, p.Kmax)
	}
	if p.Lossless && p.Threshold > 0 && (own.XOFF != nil || own.XON != nil) {
		key := "xon_offset"
		if own.XON == nil {
			key = "xoff"
		}
		b.require(p.XON < p.Threshold, at(key), "class %d has xon_offset %s, which is not below xoff %s, so RESUME would never be sent", class, p.XON, p.Threshold)
	}
}

// checkBuffer checks that the buffer holds all reserves and headrooms. It also checks
// that each threshold fits the remaining shared buffer and admits a frame.
func (b *builder) checkBuffer(s *topology.SwitchSettings, src *source, links []topology.Link) {
	var frame, set unit.Bytes
	for _, l := range links {
		frame = max(frame, l.MTU)
	}
	for class := range fabric.Priority(fabric.Priorities) {
		p := s.Profile(class)
		set += unit.Bytes(len(links)) * p.SetAside()
	}
	shared := s.Buffer - set
	if !b.require(shared >= frame, src.of("buffer"), "%s is too small: %s, and one shared frame, need %s", s.Buffer, setAside(s, len(links)), set+frame) {
		return
	}
	for class := range fabric.Priority(fabric.Priorities) {
		b.checkThreshold(s, class, src, shared, frame)
	}
}

// setAside describes the reserves and headrooms of the classes.
func setAside(s *topology.SwitchSettings, ports int) string {
	if !s.OwnClasses() {
		return fmt.Sprintf("reserve %s and headroom %s for %d ports and %d lossless classes", s.Reserve, s.Headroom, ports, len(s.Lossless))
	}
	var list []string
	for class := range fabric.Priority(fabric.Priorities) {
		if p := s.Profile(class); p.SetAside() > 0 {
			list = append(list, fmt.Sprintf("reserve %s and headroom %s of class %d", p.Reserve, p.Headroom, class))
		}
	}
	return fmt.Sprintf("%s, for %d ports", strings.Join(list, ", "), ports)
}

// checkThreshold checks the threshold of one class. shared is the buffer beyond
// reserves and headrooms, frame the largest frame, both in bytes.
func (b *builder) checkThreshold(s *topology.SwitchSettings, class fabric.Priority, src *source, shared, frame unit.Bytes) {
	p, own := s.Profile(class), s.Classes[class]
	ownKey := func(given bool, key string) place {
		if given {
			key = join(classKey(class), key)
		}
		return src.of(key)
	}
	switch {
	case p.Lossless && p.Threshold > shared:
		b.fault(ownKey(own.XOFF != nil, "xoff"), "%s is never reached: reserves and headrooms leave %s of shared buffer", p.Threshold, shared)
	case own.Limit != nil && p.Reserve+p.Threshold < frame:
		b.fault(ownKey(true, "limit"), "%s and the reserve of %s hold less than one frame of %dB: class %d would drop every frame", p.Threshold, p.Reserve, frame, class)
	case own.Alpha != nil && p.AlphaShift > 0 && p.Reserve+shared>>p.AlphaShift < frame:
		b.fault(ownKey(true, "alpha"), "%s leaves a threshold of %s at an empty buffer, less than one frame of %dB: want a larger alpha",
			topology.AlphaText(*own.Alpha), shared>>p.AlphaShift, frame)
	case p.Lossless && own.Alpha == nil && p.Threshold == 0 && shared>>p.AlphaShift < frame:
		b.fault(src.of("alpha_shift"), "%d leaves a threshold of %s at an empty buffer, less than one frame of %dB: want a smaller shift",
			s.AlphaShift, shared>>s.AlphaShift, frame)
	}
}

// checkClassOf checks that NICs can send data in a class: the class needs a code
// point, and must differ from the control class of each NIC.
func (b *builder) checkClassOf(class fabric.Priority, at place, nics ...int) {
	_, ok := b.s.CodePoint(class)
	ok = b.require(ok, at, "no DSCP maps to class %d, want one in dscp, like {%d: %d}", class, topology.ClassSelector(class), class)
	for _, i := range nics {
		n := &b.s.Nodes[i]
		ok = ok && b.require(n.NIC.ControlClass != class, at, "%d is the class of ACK, NAK and CNP at %s (control_class), want another", class, n.Name)
	}
}

// checkCodePoints checks that every class in which NICs send has a code point.
func (b *builder) checkCodePoints() {
	b.checkClassOf(topology.DataClass, b.top.of("dscp"))
	for i, n := range b.s.NodesOf(topology.NIC) {
		b.checkClassOf(n.NIC.ControlClass, b.nodes[i].of("control_class"))
		for _, share := range n.NIC.Engine.Shaping {
			b.checkClassOf(share.Class, b.nodes[i].of("shaping"))
		}
	}
}

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
func (b *builder) checkSwitch(s topology.SwitchSettings, src *source, links []topology.Link) {
	if s.Kmin > s.Kmax {
		b.fault(src.of("kmin"), "%s is above kmax %s", s.Kmin, s.Kmax)
	}
	if s.XOFF > 0 && s.XON >= s.XOFF {
		b.fault(src.of("xon_offset"), "%s is not below xoff %s, so RESUME would never be sent", s.XON, s.XOFF)
	}
	own := false
	for class := range fabric.Priority(fabric.Priorities) {
		if s.Classes[class] != (topology.ClassSettings{}) {
			own = true
			b.checkClass(s, class, src)
		}
	}
	if len(s.Lossless) == 0 && !own || len(links) == 0 {
		return
	}
	b.checkBuffer(s, src, links)
}

// checkClass checks the settings of a class, apart from the links: that they apply to
// its kind, lossless or lossy, and that its thresholds are in order.
func (b *builder) checkClass(s topology.SwitchSettings, class fabric.Priority, src *source) {
	at := func(key string) place { return src.of(join(classKey(class), key)) }
	p, own := s.Profile(class), s.Classes[class]
	wrong := func(given bool, key, what string) {
		if given {
			b.fault(at(key), "class %d is %s", class, what)
		}
	}
	if p.Lossless {
		wrong(own.Limit != nil, "limit", "lossless, want xoff or alpha, or a class that is not in lossless")
	} else {
		const lossy = "lossy and never paused, want limit or alpha, or the class in lossless"
		wrong(own.XOFF != nil, "xoff", lossy)
		wrong(own.XON != nil, "xon_offset", lossy)
		wrong(own.Headroom != nil, "headroom", lossy)
	}
	if p.Kmin > p.Kmax && (own.Kmin != nil || own.Kmax != nil) {
		key := "kmin"
		if own.Kmin == nil {
			key = "kmax"
		}
		b.fault(at(key), "class %d has kmin %s above kmax %s", class, p.Kmin, p.Kmax)
	}
	if p.Lossless && p.Threshold > 0 && p.XON >= p.Threshold && (own.XOFF != nil || own.XON != nil) {
		key := "xon_offset"
		if own.XON == nil {
			key = "xoff"
		}
		b.fault(at(key), "class %d has xon_offset %s, which is not below xoff %s, so RESUME would never be sent", class, p.XON, p.Threshold)
	}
}

// checkBuffer checks that the buffer holds all reserves and headrooms. It also checks
// that each threshold fits the remaining shared buffer and admits a frame.
func (b *builder) checkBuffer(s topology.SwitchSettings, src *source, links []topology.Link) {
	frame := unit.Bytes(0)
	for _, l := range links {
		frame = max(frame, l.MTU)
	}
	var perPort unit.Bytes
	for class := range fabric.Priority(fabric.Priorities) {
		p := s.Profile(class)
		perPort += p.SetAside()
	}
	set := unit.Bytes(len(links)) * perPort
	shared := s.Buffer - set
	if shared < frame {
		b.fault(src.of("buffer"), "%s is too small: %s, and one shared frame, need %s", s.Buffer, setAside(&s, len(links)), set+frame)
		return
	}
	for class := range fabric.Priority(fabric.Priorities) {
		b.checkThreshold(&s, class, src, shared, frame)
	}
}

// setAside describes the reserves and headrooms of the classes.
func setAside(s *topology.SwitchSettings, ports int) string {
	if s.Classes == ([fabric.Priorities]topology.ClassSettings{}) {
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

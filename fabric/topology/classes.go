package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ClassSettings are the settings that one traffic class of a switch has of its own;
// where one is nil, the class has what the switch gives all classes of its kind. At
// most one of Alpha, Limit and XOFF is set.
type ClassSettings struct {
	Reserve  *unit.Bytes
	Headroom *unit.Bytes // of a lossless class
	XOFF     *unit.Bytes // of a lossless class
	XON      *unit.Bytes // of a lossless class
	Limit    *unit.Bytes // of a lossy class
	Alpha    *int        // exponent: the dynamic threshold is the free pool times 2^Alpha
	Kmin     *unit.Bytes
	Kmax     *unit.Bytes
	Pmax     *float64
}

// Has reports whether the class has a value of its own for what the key changes.
func (c *ClassSettings) Has(key fabric.Key) bool {
	switch key {
	case fabric.KeyXOFF:
		return c.XOFF != nil || c.Limit != nil || c.Alpha != nil
	case fabric.KeyAlphaShift:
		return c.Alpha != nil
	case fabric.KeyXON:
		return c.XON != nil
	case fabric.KeyKmin:
		return c.Kmin != nil
	case fabric.KeyKmax:
		return c.Kmax != nil
	case fabric.KeyPmax:
		return c.Pmax != nil
	default:
		return false
	}
}

// ClassProfile is how a switch treats a traffic class at every port: its own
// settings, and those of the switch in the place of what it has not.
type ClassProfile struct {
	Lossless bool
	// Reserve is guaranteed to each ingress port, in bytes.
	Reserve unit.Bytes
	// Threshold bounds what each ingress port holds beyond Reserve: above it a
	// lossless class sends PAUSE and a lossy one drops. 0 is the dynamic threshold,
	// the free pool divided by 2^AlphaShift.
	Threshold  unit.Bytes
	AlphaShift int
	XON        unit.Bytes // lossless: how far below the threshold RESUME is sent
	Headroom   unit.Bytes // lossless: for what comes in after PAUSE, per ingress port
	Kmin, Kmax unit.Bytes // RED
	Pmax       float64    // RED
	Own        ClassSettings
}

// Profile gives how the switch treats a class. A lossy class that has no settings
// of its own has no reserve, and alpha 1.
func (s *SwitchSettings) Profile(class fabric.Priority) ClassProfile {
	own := s.Classes[class]
	p := ClassProfile{
		Reserve: orOwn(0, own.Reserve), Kmin: orOwn(s.Kmin, own.Kmin), Kmax: orOwn(s.Kmax, own.Kmax), Pmax: orOwn(s.Pmax, own.Pmax),
		Threshold: orOwn(0, own.Limit), Own: own,
	}
	if s.IsLossless(class) {
		p.Lossless, p.Reserve, p.Headroom = true, orOwn(s.Reserve, own.Reserve), orOwn(s.Headroom, own.Headroom)
		p.XON, p.AlphaShift = orOwn(s.XON, own.XON), int(s.AlphaShift)
		if p.Threshold = orOwn(s.XOFF, own.XOFF); own.Alpha != nil {
			p.Threshold = 0
		}
	}
	if own.Alpha != nil {
		p.AlphaShift = -*own.Alpha
	}
	return p
}

// idle reports whether a setting of the switch changes nothing, because all classes
// that it is for have their own.
func (s *SwitchSettings) idle(key fabric.Key) bool {
	own := false
	for class := range fabric.Priority(fabric.Priorities) {
		red := key == fabric.KeyKmin || key == fabric.KeyKmax || key == fabric.KeyPmax
		switch {
		case !red && !s.IsLossless(class):
		case s.Classes[class].Has(key):
			own = true
		default:
			return false
		}
	}
	return own
}

// IsLossless reports whether the class is under priority flow control.
func (s *SwitchSettings) IsLossless(class fabric.Priority) bool {
	return slices.Contains(s.Lossless, class)
}

// orOwn gives what the class has of its own, or else what the switch gives it.
func orOwn[V any](given V, own *V) V {
	if own != nil {
		return *own
	}
	return given
}

// SetAside gives what the profile takes out of the shared buffer at each port.
func (p *ClassProfile) SetAside() unit.Bytes { return p.Reserve + p.Headroom }

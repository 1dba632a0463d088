package topology

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// SwitchSettings are the settings of one switch.
type SwitchSettings struct {
	Buffer     unit.Bytes
	Reserve    unit.Bytes
	Headroom   unit.Bytes
	XOFF       unit.Bytes // 0: the dynamic threshold
	XON        unit.Bytes
	AlphaShift uint
	Quanta     uint16
	Lossless   []fabric.Priority
	// Marking holds the marking law of each class. If it is empty, a lossless class
	// has the law that the scheme needs, and a lossy class has none.
	Marking [fabric.Priorities]cc.Marking
	// MarkLastHop says whether ports that lead to hosts mark.
	MarkLastHop Toggle
	// Rewrite holds the rewriting of marks of each class. If it is empty, a lossless
	// class has the rewriting that the scheme needs, and a lossy class has none.
	Rewrite [fabric.Priorities]cc.Rewrite
	RTTX    rttx.Params // PMax is Pmax
	// OpenAge and OpenStamp report whether the file leaves RTTX.Age and RTTX.Stamp open, so that they follow from the
	// flows and commands, which another seed may change.
	OpenAge, OpenStamp bool
	Kmin, Kmax         unit.Bytes // RED
	Pmax               float64    // RED
	Step               unit.Bytes // marking law step: threshold
	StepPer            unit.Rate  // port rate for which Step is given; 0 for every rate
	Weights            [fabric.Priorities]int
	QCN                QCNSettings
	Queues             QueueSettings // of classes without PFC
	// Arbitration is the order within an egress queue: "fifo" or "ingress".
	Arbitration string
	// DSCP holds the code points that are mapped to another class than at the NICs,
	// in their order.
	DSCP []CodePoint
	// Routing is the choice among ports of equal cost in classes without one of their own.
	Routing balance.Choice
	Balance balance.Params
	// Detection is the time from a change of a link's state to its effect on routes.
	Detection unit.Time
	// Classes holds the settings of single traffic classes.
	Classes [fabric.Priorities]ClassSettings
}

// CodePoint maps a DSCP, 0 to 63, to a traffic class.
type CodePoint struct {
	DSCP  uint8
	Class fabric.Priority
}

// QCNSettings are the settings of a switch's QCN congestion points.
type QCNSettings struct {
	SetPoint   unit.Bytes // Qeq
	Weight     int        // w
	Sampling   string     // "arrival" or "departure"
	SampleBase unit.Bytes
	Jitter     float64
	CNMClass   fabric.Priority
}

// ClassSettings are the settings of one traffic class at a switch. Where a field is
// nil, the class has the value that the switch sets for all classes of its kind. At
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
	Routing  *balance.Choice
	PFC      *Toggle // of a class in Lossless
	// Of a lossy class, or of a class in Lossless while it has no PFC.
	Trim                          *Toggle
	QueueLimit, QueueLimitLastHop *Extent
}

// has reports whether the class has a value of its own for the setting with that key.
func (c *ClassSettings) has(key fabric.Key) bool {
	return map[fabric.Key]bool{
		fabric.KeyXOFF:       c.XOFF != nil || c.Limit != nil || c.Alpha != nil,
		fabric.KeyAlphaShift: c.Alpha != nil,
		fabric.KeyXON:        c.XON != nil,
		fabric.KeyKmin:       c.Kmin != nil,
		fabric.KeyKmax:       c.Kmax != nil,
		fabric.KeyPmax:       c.Pmax != nil,
		fabric.KeyRouting:    c.Routing != nil,
	}[key]
}

// ClassProfile is the treatment of a traffic class at every port of a switch: the
// settings of the class, and those of the switch where the class has none.
type ClassProfile struct {
	Lossless bool
	// Reserve is guaranteed to each ingress port, in bytes.
	Reserve unit.Bytes
	// Threshold bounds the occupancy of each ingress port beyond Reserve. Above it, a
	// lossless class sends PAUSE and a lossy class drops. 0 selects the dynamic
	// threshold, the free pool divided by 2^AlphaShift.
	Threshold  unit.Bytes
	AlphaShift int
	XON        unit.Bytes // lossless: RESUME is sent this far below the threshold
	Headroom   unit.Bytes // lossless: for the bytes that arrive after PAUSE, per ingress port
	Kmin, Kmax unit.Bytes // RED
	Pmax       float64    // RED
	Routing    balance.Choice
}

// Profile returns the treatment of a class at the switch. A lossy class without
// settings of its own has no reserve, and alpha 1.
func (s *SwitchSettings) Profile(class fabric.Priority) ClassProfile {
	own := s.Classes[class]
	p := ClassProfile{
		Reserve: orOwn(0, own.Reserve), Kmin: orOwn(s.Kmin, own.Kmin), Kmax: orOwn(s.Kmax, own.Kmax), Pmax: orOwn(s.Pmax, own.Pmax),
		Threshold: orOwn(0, own.Limit), Routing: orOwn(s.Routing, own.Routing),
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

// Affected returns the classes to which a setting of the switch applies, one bit each:
// those without a value of their own, for keys of RED and routing among all classes, else
// among the lossless ones. Keys of links, of the converter and of the parameters of choices
// affect no class.
func (s *SwitchSettings) Affected(key fabric.Key) (classes uint8) {
	for class := range fabric.Priority(fabric.Priorities) {
		every := key == fabric.KeyKmin || key == fabric.KeyKmax || key == fabric.KeyPmax || key == fabric.KeyRouting
		if (every || key <= fabric.KeyPmax && s.IsLossless(class)) && !s.Classes[class].has(key) {
			classes |= 1 << class
		}
	}
	return classes
}

// IsLossless reports whether the class is under priority flow control.
func (s *SwitchSettings) IsLossless(class fabric.Priority) bool {
	return slices.Contains(s.Lossless, class)
}

// OwnClasses reports whether a class has settings of its own.
func (s *SwitchSettings) OwnClasses() bool { return s.Classes != [fabric.Priorities]ClassSettings{} }

// orOwn returns the class's own value or, if it has none, the given value.
func orOwn[V any](given V, own *V) V {
	if own != nil {
		return *own
	}
	return given
}

// SetAside returns the bytes that the profile takes out of the shared buffer at each
// port.
func (p *ClassProfile) SetAside() unit.Bytes { return p.Reserve + p.Headroom }

// AlphaText formats 2 to the power of exponent as an alpha, "1/8" or "8".
func AlphaText(exponent int) string {
	if exponent < 0 {
		return fmt.Sprintf("1/%d", 1<<-exponent)
	}
	return strconv.Itoa(1 << exponent)
}

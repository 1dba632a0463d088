package topology

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Toggle is a setting that a scheme decides, unless the scenario does.
type Toggle string

// Values of a Toggle.
const (
	ByScheme Toggle = "scheme"
	On       Toggle = "on"
	Off      Toggle = "off"
)

// or returns whether the setting is on: by the class's own value, by that of the switch, or by
// the scheme.
func (t Toggle) or(own *Toggle, scheme bool) bool {
	switch orOwn(t, own) {
	case On:
		return true
	case Off:
		return false
	default:
		return scheme
	}
}

// Extent is a length of a queue: Bytes or, if BDP is above 0, that multiple of the rack's
// bandwidth-delay product (routes.Paths.BDP). The zero Extent is no limit.
type Extent struct {
	Bytes unit.Bytes
	BDP   float64
}

// At returns the extent in bytes in a rack with that bandwidth-delay product.
func (e Extent) At(bdp unit.Bytes) unit.Bytes {
	if e.BDP > 0 {
		return unit.Bytes(e.BDP * float64(bdp))
	}
	return e.Bytes
}

// String returns the extent as in a scenario, "1.5bdp" or "30KB".
func (e Extent) String() string {
	if e.BDP > 0 {
		return strconv.FormatFloat(e.BDP, 'g', -1, 64) + "bdp"
	}
	return e.Bytes.String()
}

// QueueSettings are the settings of egress queues for the classes of a switch that are lossy.
type QueueSettings struct {
	// PFC turns off PFC in the classes of SwitchSettings.Lossless, or keeps it on under schemes
	// that do without. Without PFC, a class keeps its marking law.
	PFC Toggle
	// Trim makes the classes trim that have no PFC.
	Trim Toggle
	// Limit and LimitLastHop bound their egress queues. LimitLastHop is for ports that lead to a
	// host. nil selects the defaults of AsBuilt.
	Limit, LimitLastHop *Extent
	TrimSize            unit.Bytes
	TrimDSCP            uint8
	TrimDSCPLastHop     uint8
	TrimPolicy          string // "arriving" or "htsim"
	// Kmin and Kmax are the thresholds of the marking law bdp as multiples of the BDP, Pmax is
	// its marking probability at Kmax.
	Kmin, Kmax, Pmax float64
}

// Queue returns the bounds of the egress queues of a class of a scenario AsBuilt.
func (s *SwitchSettings) Queue(class fabric.Priority) (limit, lastHop Extent, trims bool) {
	own := s.Classes[class]
	return orOwn(Extent{}, own.QueueLimit), orOwn(Extent{}, own.QueueLimitLastHop), orOwn(Off, own.Trim) == On
}

// Classes and code points of trimmed packets, which UEC leaves to the operator. They are a choice
// of this project.
const (
	TrimmedClass       = fabric.Priority(5)
	trimmedDSCP        = 40 // the class selector of TrimmedClass
	trimmedLastHopDSCP = 41
)

// defaultQueues returns the default settings. The thresholds are those that UEC recommends
// (UEC 1.0.3, pp. 418-419).
func defaultQueues() QueueSettings {
	return QueueSettings{
		PFC: ByScheme, Trim: ByScheme,
		TrimSize: 64, TrimDSCP: trimmedDSCP, TrimDSCPLastHop: trimmedLastHopDSCP, // size: uet-htsim, -trimsize
		TrimPolicy: "arriving",
		Kmin:       0.2, Kmax: 0.8, Pmax: 1,
	}
}

// Limits of egress queues as multiples of the BDP (UEC 1.0.3, pp. 418-419): where data is trimmed,
// there at the last hop, where it is dropped because trimming is off, and where trimmed packets are
// dropped.
const (
	trimAt        = 1
	trimAtLastHop = 1.5
	dropAt        = 5
	dropTrimmedAt = 1
)

// AsBuilt returns the scenario as its machines are built under its scheme: classes without PFC are
// not in Lossless, and have the marking law, the trimming and the limits that they have then.
// Packets trimmed at the last hop are in the class of other trimmed packets, unless the scenario
// maps their code point. NSCC's settings for switches that trim are off if no switch trims, unless the
// scenario sets them. AsBuilt returns s itself if that changes nothing.
func (s *Scenario) AsBuilt() *Scenario {
	scheme, err := cc.Find(s.Scheme)
	if err != nil {
		return s
	}
	built := s
	if s.CC.NSCC.Trimming == cc.TrimmingOfSwitches && scheme.Trim && s.noneTrims(&scheme) {
		c := *s
		c.CC.NSCC.Trimming, c.Nodes, built = cc.TrimmingOff, slices.Clone(s.Nodes), &c
	}
	for i := range s.Nodes {
		if s.Nodes[i].Kind != Switch || !s.Nodes[i].Switch.rebuilt(&scheme) {
			continue
		}
		if built == s {
			c := *s
			c.Nodes, built = slices.Clone(s.Nodes), &c
		}
		set := &built.Nodes[i].Switch
		set.withoutPFC(&scheme)
		built.mapTrimmed(i)
		set.boundQueues(built.DSCPMapAt(i))
	}
	return built
}

// noneTrims reports whether the scenario has switches, none of which trims in any class under a scheme.
func (s *Scenario) noneTrims(scheme *cc.Scheme) bool {
	switches := false
	for _, n := range s.NodesOf(Switch) {
		switches = true
		for class := range fabric.Priority(fabric.Priorities) {
			if n.Switch.Trims(class, scheme) {
				return false
			}
		}
	}
	return switches
}

// Trims reports whether a class trims under a scheme.
func (s *SwitchSettings) Trims(class fabric.Priority, scheme *cc.Scheme) bool {
	return !s.hasPFC(class, scheme) && s.trims(class, scheme)
}

// MarksLastHop reports whether ports that lead to hosts mark under a scheme.
func (s *SwitchSettings) MarksLastHop(scheme *cc.Scheme) bool {
	return s.MarkLastHop.or(nil, !scheme.BareLastHop)
}

// PFCStays reports whether a class is under PFC with any scheme.
func (s *SwitchSettings) PFCStays(class fabric.Priority) bool {
	return s.IsLossless(class) && s.Queues.PFC.or(s.Classes[class].PFC, false)
}

// rebuilt reports whether AsBuilt changes the settings under a scheme.
func (s *SwitchSettings) rebuilt(scheme *cc.Scheme) bool {
	for class := range fabric.Priority(fabric.Priorities) {
		if s.IsLossless(class) != s.hasPFC(class, scheme) || s.Trims(class, scheme) {
			return true
		}
	}
	return false
}

// hasPFC reports whether a class is under PFC.
func (s *SwitchSettings) hasPFC(class fabric.Priority, scheme *cc.Scheme) bool {
	return s.IsLossless(class) && s.Queues.PFC.or(s.Classes[class].PFC, !scheme.Lossy)
}

// trims reports whether a class without PFC trims: by its own setting or, if it is in Lossless, by
// that of the switch.
func (s *SwitchSettings) trims(class fabric.Priority, scheme *cc.Scheme) bool {
	own := s.Classes[class].Trim
	if !s.IsLossless(class) {
		return Off.or(own, false)
	}
	return s.Queues.Trim.or(own, scheme.Trim)
}

// withoutPFC takes the classes without PFC out of Lossless. They keep the marking and the
// rewriting that the scheme gives to lossless classes.
func (s *SwitchSettings) withoutPFC(scheme *cc.Scheme) {
	var kept []fabric.Priority
	for class := range fabric.Priority(fabric.Priorities) {
		own := &s.Classes[class]
		pfc, trims := s.hasPFC(class, scheme), s.Trims(class, scheme)
		switch {
		case pfc:
			kept = append(kept, class)
		case s.IsLossless(class):
			s.Marking[class], s.Rewrite[class] = cmp.Or(s.Marking[class], scheme.Marking), cmp.Or(s.Rewrite[class], scheme.Rewrite)
			own.QueueLimit, own.QueueLimitLastHop = own.orLimits(s.Queues.Limit, s.Queues.LimitLastHop)
			if scheme.Trim && !trims {
				own.QueueLimit, own.QueueLimitLastHop = own.orLimits(&Extent{BDP: dropAt}, nil)
			}
		}
		trim := Off
		if trims {
			trim = On
		}
		own.Trim = &trim
	}
	s.Lossless = kept
}

// orLimits returns the limits of the class, or the given ones where it has none.
func (c *ClassSettings) orLimits(limit, lastHop *Extent) (*Extent, *Extent) {
	if c.QueueLimit != nil {
		return c.QueueLimit, c.QueueLimitLastHop
	}
	return limit, cmp.Or(c.QueueLimitLastHop, lastHop)
}

// boundQueues sets the limits of classes that trim, and of the class of trimmed packets, where the
// scenario sets none.
func (s *SwitchSettings) boundQueues(classOf [64]fabric.Priority) {
	trims := false
	for class := range fabric.Priority(fabric.Priorities) {
		own := &s.Classes[class]
		if *own.Trim == On {
			own.QueueLimit, own.QueueLimitLastHop = own.orLimits(&Extent{BDP: trimAt}, &Extent{BDP: trimAtLastHop})
			trims = true
		}
	}
	for _, dscp := range []uint8{s.Queues.TrimDSCP, s.Queues.TrimDSCPLastHop} {
		if own := &s.Classes[classOf[dscp&63]]; trims && own.QueueLimit == nil {
			own.QueueLimit = &Extent{BDP: dropTrimmedAt}
		}
	}
}

// mapTrimmed maps the code point of packets that a switch trims at the last hop to the class of
// other trimmed packets, unless the scenario or the switch maps it, or it is a class selector.
func (s *Scenario) mapTrimmed(node int) {
	set := &s.Nodes[node].Switch
	dscp := set.Queues.TrimDSCPLastHop
	is := func(c CodePoint) bool { return c.DSCP == dscp }
	trims := slices.ContainsFunc(set.Classes[:], func(c ClassSettings) bool { return *c.Trim == On })
	if !trims || dscp%8 == 0 || dscp == fabric.DataDSCP || slices.ContainsFunc(s.DSCP, is) || slices.ContainsFunc(set.DSCP, is) {
		return
	}
	s.DSCP = append(slices.Clip(s.DSCP), CodePoint{DSCP: dscp, Class: s.DSCPMapAt(node)[set.Queues.TrimDSCP]})
}

// TrimmedLastHop returns the set of code points, one bit each, that the scenario's switches give
// to packets that they trim at the last hop only.
func (s *Scenario) TrimmedLastHop() (set uint64) {
	for _, n := range s.NodesOf(Switch) {
		if q := &n.Switch.Queues; q.TrimDSCPLastHop != q.TrimDSCP {
			set |= 1 << q.TrimDSCPLastHop
		}
	}
	return set
}

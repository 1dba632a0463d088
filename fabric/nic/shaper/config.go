package shaper

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// MaxUnits is the maximum number of units of one Shaper.
const MaxUnits = 128

// maxLeaves is the maximum number of leaves; the hardware has ten.
const maxLeaves = 16

// MaxRate and MaxDepth keep the arithmetic of the buckets far from overflowing
// 63 bits.
const (
	MaxRate  = 100_000 * unit.GigabitPerSec
	MaxDepth = 1000 * unit.Megabyte
)

// Pacing selects the limit on requested responses.
type Pacing string

// Ways of pacing.
const (
	PacingOff         Pacing = "off"         // no limit
	PacingBucket      Pacing = "bucket"      // the IN buckets
	PacingOutstanding Pacing = "outstanding" // an Outstanding; the IN buckets are not used
)

// Gate is the condition under which an IN bucket admits a response.
type Gate string

// Gates.
const (
	GateFull   Gate = "full"   // it has tokens for the whole response
	GateCredit Gate = "credit" // it is not below 0; the response may take it below 0
)

// Config describes a shaper. Limits with a Rate of 0 do not limit.
type Config struct {
	Units       int
	Out, In     Limit // of the head
	Branches    []Level
	Leaves      []Leaf
	Pacing      Pacing
	Gate        Gate
	Outstanding Outstanding
	Policy      Policy
	// Quantum is a unit's budget per round and direction, in bytes. It must be
	// at least the cost of the most expensive packet.
	Quantum unit.Bytes
}

// Leaf is a shaping class.
type Leaf struct {
	Level
	Branch   int
	Priority int   // higher priorities go first
	Weight   int   // share among leaves of one priority, at least 1
	Class    uint8 // the traffic class that can pause it, 0 to 7
}

// Policy selects the next unit of a leaf among the units whose packets may go.
type Policy string

// Policies. All but RoundRobin select by Packet.Rank, and take turns at a tie.
const (
	RoundRobin   Policy = "round-robin"  // deficit round robin: equal shares in bytes, per direction
	ByLoad       Policy = "load"         // the unit with the largest backlog
	ByPriority   Policy = "priority"     // the most urgent unit
	Availability Policy = "availability" // the unit furthest below its limit of outstanding packets
)

// Policies lists the valid policies.
var Policies = []Policy{RoundRobin, ByLoad, ByPriority, Availability}

// Validate returns all invalid settings as one error, or nil. longest and
// dearest are the longest packet and the longest response that units will
// offer: a bucket too shallow for them would block them forever.
func (c *Config) Validate(longest, dearest unit.Bytes) error {
	errs := []error{
		want(0 < c.Units && c.Units <= MaxUnits, "%d units, want 1 to %d", c.Units, MaxUnits),
		want(0 < len(c.Leaves) && len(c.Leaves) <= maxLeaves, "%d leaves, want 1 to %d", len(c.Leaves), maxLeaves),
		want(slices.Contains(Policies, c.Policy), "unknown policy %q, want one of %q", c.Policy, Policies),
		want(c.Gate == GateFull || c.Gate == GateCredit, "unknown gate %q, want %q or %q", c.Gate, GateFull, GateCredit),
		want(c.Quantum >= max(longest, dearest), "quantum %v, want at least %v", c.Quantum, max(longest, dearest)),
		c.Out.validate("head, OUT", longest),
	}
	inward := dearest
	if c.Pacing != PacingBucket {
		inward = 0
	}
	errs = append(errs, c.In.validate("head, IN", inward), c.validatePacing(dearest))
	for i, b := range c.Branches {
		errs = append(errs, b.validate(fmt.Sprintf("branch %d", i), longest, inward))
	}
	for i, l := range c.Leaves {
		errs = append(errs,
			l.validate(fmt.Sprintf("leaf %d", i), longest, inward),
			want(0 <= l.Branch && l.Branch < len(c.Branches), "leaf %d: branch %d, want less than %d", i, l.Branch, len(c.Branches)),
			want(l.Weight > 0, "leaf %d: weight %d, want at least 1", i, l.Weight),
			want(l.Class < 8, "leaf %d: class %d, want 0 to 7", i, l.Class))
	}
	return errors.Join(errs...)
}

func (c *Config) validatePacing(dearest unit.Bytes) error {
	o := c.Outstanding
	switch c.Pacing {
	case PacingOff, PacingBucket:
		return nil
	case PacingOutstanding:
		return errors.Join(
			want(o.Bytes > 0 || o.PerPeriod > 0, "pacing by outstanding bytes, want a limit of outstanding bytes or of bytes per period"),
			want(o.Bytes == 0 || o.Bytes >= dearest, "limit of %v outstanding, want at least the longest response of %v", o.Bytes, dearest),
			want(o.PerPeriod == 0 || o.PerPeriod >= dearest, "limit of %v per period, want at least the longest response of %v", o.PerPeriod, dearest),
			want(o.PerPeriod == 0 || o.Period > 0, "limit per period with period %v, want a period of more than 0", o.Period))
	}
	return fmt.Errorf("unknown pacing %q, want %q, %q or %q", c.Pacing, PacingOff, PacingBucket, PacingOutstanding)
}

func (l *Level) validate(name string, out, in unit.Bytes) error {
	return errors.Join(
		l.Out.Ceiling.validate(name+", OUT ceiling", out), l.In.Ceiling.validate(name+", IN ceiling", in),
		l.Out.Assured.validate(name+", OUT assured", 0), l.In.Assured.validate(name+", IN assured", 0))
}

func (l *Limit) validate(name string, least unit.Bytes) error {
	return errors.Join(
		want(0 <= l.Rate && l.Rate <= MaxRate, "%s: rate %v, want 0 to %v", name, l.Rate, MaxRate),
		want(l.Rate == 0 || l.Depth >= least, "%s: depth %v, want at least the %v of the longest packet or response", name, l.Depth, least),
		want(0 <= l.Depth && l.Depth <= MaxDepth, "%s: depth %v, want 0 to %v", name, l.Depth, MaxDepth))
}

// want returns an error unless ok.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

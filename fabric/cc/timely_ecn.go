package cc

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Order is how a sender with two congestion signals combines them.
type Order string

// Orders of the signals (CN application 202610735428.3, [0038] and [0039]).
const (
	OrderBoth     Order = "both"      // merged: each signal changes the rate as it arrives
	OrderECNFirst Order = "ecn-first" // static priority: RTT samples are ignored after a CNP
)

// TIMELYECNParams holds the settings of the scheme timely-ecn in addition to
// TIMELYParams and DCQCNParams.
type TIMELYECNParams struct {
	Order Order
	// Hold is how long a CNP takes precedence under OrderECNFirst.
	Hold unit.Time
}

// DefaultTIMELYECN returns settings that merge the signals. Hold is the CNP
// interval.
func DefaultTIMELYECN() TIMELYECNParams {
	return TIMELYECNParams{Order: OrderBoth, Hold: DefaultDCQCN().CNPInterval}
}

// Validate returns an error if a setting is invalid, or nil.
func (p TIMELYECNParams) Validate() error {
	if p.Order != OrderBoth && p.Order != OrderECNFirst || p.Hold < 0 {
		return fmt.Errorf("timely-ecn: order %q and hold %s, want order %s or %s, and hold 0 or more", p.Order, p.Hold, OrderBoth, OrderECNFirst)
	}
	return nil
}

// TIMELYECN is a reaction point with two signals, as RDMA senders have them
// side by side ([0033]). TIMELY changes the rate with the RTT. A CNP cuts it as
// in DCQCN, by half of an alpha that follows the frequency of CNPs. The
// conversion of ECN into RTT is compared with it.
type TIMELYECN struct {
	TIMELY
	marks
	order Order
	hold  unit.Time
	until unit.Time // when the latest CNP's precedence ends
}

// NewTIMELYECN returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. The params must be valid.
func NewTIMELYECN(p TIMELYECNParams, t TIMELYParams, d DCQCNParams, line, initial unit.Rate) *TIMELYECN {
	return &TIMELYECN{
		TIMELY: *NewTIMELY(t, line, initial), marks: newMarks(d),
		order: p.Order, hold: p.Hold,
	}
}

// Handle reacts to a CNP, and to an ACK unless a CNP takes precedence.
func (c *TIMELYECN) Handle(now unit.Time, s Signal) {
	if s.Kind == CNP && s.Marked {
		c.lower(c.rate * (1 - c.cut(now)))
		c.until = now + c.hold
		return
	}
	if c.order == OrderECNFirst && now < c.until {
		s.RTT = 0 // the acknowledged bytes count nevertheless
	}
	c.TIMELY.Handle(now, s)
}

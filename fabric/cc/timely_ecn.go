package cc

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Order says what a sender with two signals of congestion does when both speak.
type Order string

// Orders of the signals (CN application 202610735428.3, [0038] and [0039]).
const (
	OrderBoth     Order = "both"      // merged: each signal moves the rate as it comes
	OrderECNFirst Order = "ecn-first" // static priority: after a CNP the RTT is not listened to
)

// TIMELYECNParams holds what the scheme timely-ecn adds to TIMELYParams and
// DCQCNParams.
type TIMELYECNParams struct {
	Order Order
	// Hold is for how long a CNP takes precedence under OrderECNFirst.
	Hold unit.Time
}

// DefaultTIMELYECN merges the signals; a CNP would hold until the next can come.
func DefaultTIMELYECN() TIMELYECNParams {
	return TIMELYECNParams{Order: OrderBoth, Hold: DefaultDCQCN().CNPInterval}
}

// Validate names everything that the scheme cannot work with, nil if there is
// nothing.
func (p TIMELYECNParams) Validate() error {
	if p.Order != OrderBoth && p.Order != OrderECNFirst || p.Hold < 0 {
		return fmt.Errorf("timely-ecn: order %q and hold %s, want %s or %s, and at least 0", p.Order, p.Hold, OrderBoth, OrderECNFirst)
	}
	return nil
}

// TIMELYECN is a reaction point with two signals, such as RDMA senders have beside
// one another ([0033]): TIMELY moves the rate with the RTT, and a CNP cuts it as
// DCQCN does, by half of an alpha that follows how many come. It is what the
// conversion of ECN into RTT is compared with.
type TIMELYECN struct {
	TIMELY
	marks
	order Order
	hold  unit.Time
	until unit.Time // when the latest CNP's precedence ends
}

// NewTIMELYECN makes the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. The params are valid.
func NewTIMELYECN(p TIMELYECNParams, t TIMELYParams, d DCQCNParams, line, initial unit.Rate) *TIMELYECN {
	return &TIMELYECN{
		TIMELY: *NewTIMELY(t, line, initial), marks: newMarks(d),
		order: p.Order, hold: p.Hold,
	}
}

// Handle takes a CNP, or an ACK unless a CNP takes precedence.
func (c *TIMELYECN) Handle(now unit.Time, s Signal) {
	if s.Kind == CNP && s.Marked {
		c.rate = min(c.rate, max(c.rate*(1-c.cut(now)), c.floor))
		c.until = now + c.hold
		return
	}
	if c.order == OrderECNFirst && now < c.until {
		s.RTT = 0 // what the ACK acknowledges counts all the same
	}
	c.TIMELY.Handle(now, s)
}

// Package credit implements receiver-credited transmission as in UET's RCCC and
// EQDS: how a sender uses credit (Account), how a receiver shares its link
// among senders (Pacer), and how it grants less to senders that cannot spend it
// (the AIMD of CBRC). Its input and output are numbers and instants; it knows
// no frame, queue pair or clock.
//
// Sources: the document CBRC and its rows CBRC-1 to CBRC-43; UEC 1.0 and EQDS
// (NSDI'22) as collected in the facts, B2 and B3.
package credit

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Law determines the target that a sender requests (CBRC-43).
type Law string

// Pull-target laws.
const (
	LawBacklog Law = "backlog"        // the whole backlog, regardless of the credit held
	LawUnheld  Law = "backlog-credit" // the backlog minus the credit held
	LawShared  Law = "shared"         // the same, divided by the number of receivers that the sender serves (UEC)
)

// Scope selects the credit that is compared with the threshold (CBRC-26).
type Scope string

// Scopes of the threshold.
const (
	ScopePair Scope = "pair" // of one sender and receiver
	ScopeAll  Scope = "all"  // of one sender, over all its receivers
)

// Decrease is the law by which the coefficient on the active list decreases
// (CBRC-11, CBRC-12).
type Decrease string

// Laws of the decrease.
const (
	DecreaseHalf Decrease = "half" // the original coefficient divided by 2^n: 1/2^n, or k/2^n if it is k
	DecreaseBeta Decrease = "beta" // the original coefficient times beta^n
)

// Order determines which indicated packets are consecutive (CBRC-20).
type Order string

// Orders.
const (
	OrderArrival Order = "arrival" // in order of arrival
	OrderPSN     Order = "psn"     // in order of transmission: packets out of order do not count
)

// Start determines the initial credit of a sender.
type Start string

// Starts.
const (
	StartSpeculative Start = "speculative" // a full window, before any grant
	StartAsked       Start = "asked"       // none: the sender requests credit first
)

// Policy is a receiver's reaction to the excess signal (CBRC-36).
type Policy string

// Policies.
const (
	PolicyScheme   Policy = "scheme"   // the scheme decides
	PolicyOriginal Policy = "original" // the signal is ignored: mode A
	PolicyAIMD     Policy = "aimd"     // smaller grants, and senders signal to it under any scheme: mode B
)

// Params are the settings of receiver credit. Sizes are in bytes on the wire.
type Params struct {
	AIMD   bool   // senders signal excess, and a receiver with PolicyScheme grants them less (CBRC-36, mode B)
	Policy Policy // of this receiver

	RateShare float64    // share of the link's rate that is granted as credit
	MTU       unit.Bytes // grant of a coefficient of 1; 0 is the NIC's largest data packet on the wire
	Active    int        // original coefficient on the active list
	Idle      int        // original coefficient on the idle list: k
	Rise      int        // additive step of the idle list's recovery: m
	Decrease  Decrease
	Beta      float64
	Guard     unit.Time // a sender with demand is granted a quantum at least this often; 0 is never

	Window    unit.Bytes // maximum credit that a pair may hold, and its speculative start; 0 is 1.5 bandwidth-delay products
	Threshold unit.Bytes // credit above which a sender signals excess; 0 is one bandwidth-delay product
	BaseRTT   unit.Time  // of the rack, for these two and for the age at which held credit is stale
	Retry     unit.Time  // a sender without credit and without an answer repeats its request after this time, then after twice as long, up to 16 times
	Scope     Scope
	Law       Law
	Excess    Excess
	Counter   Counter
	Order     Order
	Start     Start
}

// Default returns the published settings.
func Default() Params {
	return Params{
		Policy:    PolicyScheme,
		RateShare: 0.99,         // uet-htsim main_uec.cpp (facts B2.1)
		Active:    1,            // CBRC-11: "original coefficient 1"
		Idle:      4,            // CBRC-17: k = 4, UEC's packets per pull
		Rise:      1,            // CBRC-17: m = 1
		Decrease:  DecreaseHalf, // CBRC-11
		Beta:      0.5,          // CBRC-12: beta of 1/2 is the same law
		BaseRTT:   40 * unit.Microsecond,
		Retry:     unit.Millisecond, // own choice: with 128 senders a turn comes every 107 us, and earlier requests only add load
		Scope:     ScopePair,        // CBRC-26
		Law:       LawBacklog,       // CBRC-43: the baseline that wastes credit
		Excess:    ExcessOnes,       // CBRC-21: either
		Counter:   UETCounter,       // CBRC-24
		Order:     OrderArrival,     // CBRC-20
		Start:     StartSpeculative, // facts B2.2
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p Params) Validate() error {
	var faults []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	bad(!(p.RateShare > 0 && p.RateShare <= 1), "rate_share %v, want more than 0 and at most 1", p.RateShare)
	bad(p.MTU != 0 && p.MTU < Quantum, "mtu %v, want 0 or at least %v", p.MTU, Quantum)
	bad(p.Active < 1, "active coefficient %d, want at least 1", p.Active)
	bad(p.Idle < 1, "idle coefficient %d, want at least 1", p.Idle)
	bad(p.Rise < 1, "rise %d, want at least 1", p.Rise)
	bad(p.Decrease != DecreaseHalf && p.Decrease != DecreaseBeta, "decrease %q, want half or beta", p.Decrease)
	bad(!(p.Beta > 0 && p.Beta < 1), "beta %v, want more than 0 and less than 1", p.Beta)
	bad(p.Guard < 0, "guard %v, want 0 or more", p.Guard)
	bad(p.Window < 0 || p.Threshold < 0, "window %v and threshold %v, want 0 or more", p.Window, p.Threshold)
	bad(p.BaseRTT <= 0, "base_rtt %v, want more than 0", p.BaseRTT)
	bad(p.Retry <= 0, "retry %v, want more than 0", p.Retry)
	bad(p.Scope != ScopePair && p.Scope != ScopeAll, "scope %q, want pair or all", p.Scope)
	bad(p.Order != OrderArrival && p.Order != OrderPSN, "order %q, want arrival or psn", p.Order)
	bad(p.Start != StartSpeculative && p.Start != StartAsked, "start %q, want speculative or asked", p.Start)
	bad(p.Policy != PolicyScheme && p.Policy != PolicyOriginal && p.Policy != PolicyAIMD, "policy %q, want scheme, original or aimd", p.Policy)
	bad(p.Law != LawBacklog && p.Law != LawUnheld && p.Law != LawShared, "law %q, want backlog, backlog-credit or shared", p.Law)
	bad(p.Excess != ExcessZeros && p.Excess != ExcessOnes, "excess %q, want zeros or ones", p.Excess)
	bad(p.Counter < 12 || p.Counter > UETCounter, "counter %d, want 12 to 24", p.Counter)
	return errors.Join(faults...)
}

// reacts reports whether the receiver grants less to senders that signal excess.
func (p Params) reacts() bool {
	return p.Policy == PolicyAIMD || p.Policy == PolicyScheme && p.AIMD
}

// window returns the maximum credit that a pair may hold at a link of rate
// line: 1.5 bandwidth-delay products unless set (facts B2.1).
func (p Params) window(line unit.Rate) unit.Bytes {
	if p.Window > 0 {
		return p.Window
	}
	bdp := line.In(p.BaseRTT)
	return bdp + bdp/2
}

// threshold returns the credit above which a sender signals excess: one
// bandwidth-delay product unless set (CBRC-26).
func (p Params) threshold(line unit.Rate) unit.Bytes {
	if p.Threshold > 0 {
		return p.Threshold
	}
	return line.In(p.BaseRTT)
}

package cc

import (
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Recovery is the loss recovery of the flows of a scheme or NIC.
type Recovery string

// Forms of loss recovery.
const (
	RecoveryScheme    Recovery = "scheme"    // of a NIC: the scheme's
	RecoveryGoBackN   Recovery = "gobackn"   // go-back-N, IBTA volume 1 §9.7
	RecoverySelective Recovery = "selective" // selective repeat, as in IRN
	RecoverySpraying  Recovery = "spraying"  // selective repeat for packets that take several paths, as in MRC
)

// IRNParams holds the settings of selective repeat as in IRN: Mittal et al., "Revisiting Network
// Support for RDMA", SIGCOMM 2018. Its congestion control is DCQCN's.
type IRNParams struct {
	// RTOHigh is the retransmission timeout, and RTOLow that with fewer than FewPackets packets in
	// flight. Each further timeout without progress doubles them.
	RTOHigh, RTOLow unit.Time
	FewPackets      int
	// Cap bounds the payload in flight of a flow, BDP-FC; 0 is the bandwidth-delay product of
	// its path.
	Cap unit.Bytes
	// Retries is the number of timeouts in a row after which a flow fails; 0 means no limit.
	Retries int
}

// DefaultIRN returns the paper's settings, for links of 40 Gbit/s and a base RTT of 24 us.
func DefaultIRN() IRNParams {
	return IRNParams{RTOHigh: 320 * unit.Microsecond, RTOLow: 100 * unit.Microsecond, FewPackets: 3}
}

// Validate returns all invalid settings as one error, or nil.
func (p IRNParams) Validate() error {
	c := checks{scheme: "irn"}
	c.want(0 < p.RTOLow && p.RTOLow <= p.RTOHigh, "rto_low %s and rto_high %s, want more than 0 and rto_low at most rto_high", p.RTOLow, p.RTOHigh)
	c.want(p.FewPackets >= 0, "few_packets %d, want 0 or more", p.FewPackets)
	c.want(p.Cap >= 0, "cap %s, want 0 or more", p.Cap)
	c.want(p.Retries >= 0, "retries %d, want 0 or more", p.Retries)
	return c.err()
}

// Window returns the maximum number of packets in flight on a path: the cap divided by the payload of
// a packet, rounded up, at least 1. Without a cap and on a path of unknown RTT it is unlimited.
func (p *IRNParams) Window(path Path) int64 {
	most := p.Cap
	switch {
	case most == 0 && path.BaseRTT == 0:
		return math.MaxInt64
	case most == 0:
		most = path.Rate.In(path.BaseRTT)
	}
	return max(1, int64((most+path.MTU-1)/path.MTU))
}

package cc

import (
	"github.com/rackfab/rackfab/fabric/unit"
)

// Loss is the rule by which a sender that sprays finds lost packets besides timeouts.
type Loss string

// Rules.
const (
	LossTrimmed Loss = "trimmed" // those that a NAK reports as trimmed
	LossSLEEK   Loss = "sleek"   // also those below many packets that arrived out of order
)

// MRCParams holds the settings of selective repeat over several paths, as Multipath Reliable
// Connection (OCP MRC 1.0) and Ultra Ethernet have it. Its congestion control is NSCC's.
type MRCParams struct {
	// RTO is the timeout of a packet; 0 for the one that the path implies, see Params.RTO. Each
	// further timeout without progress doubles it.
	RTO unit.Time
	// Retries is the number of timeouts in a row after which a flow fails; 0 means no limit.
	Retries int
	Loss    Loss
	// Window is the PSN window, the largest distance in packets from the oldest to the newest in
	// flight: a multiple of mrcWindowUnit.
	Window int
	// AckBytes is the payload that one ACK acknowledges if nothing else requests one.
	AckBytes unit.Bytes
}

// mrcWindowUnit is the unit of the PSN window in packets (descriptions of MRC 1.0), and
// mostMRCWindow the largest window: what a responder can place beyond the expected packet.
const (
	mrcWindowUnit = 128
	mostMRCWindow = 1 << 16
)

// DefaultMRC returns the settings of uet-htsim as far as it has them. The PSN window is this
// project's: 16 times the packets of 1000 bytes in a bandwidth-delay product of 400 Gbit/s and 10 us.
func DefaultMRC() MRCParams {
	return MRCParams{
		Loss:     LossTrimmed, // uet-htsim: SLEEK is off
		Window:   8192,
		AckBytes: 16384, // uec.cpp 22
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p MRCParams) Validate() error {
	c := checks{scheme: "mrc"}
	c.want(p.RTO >= 0, "rto %s, want 0 or more", p.RTO)
	c.want(p.Retries >= 0, "retries %d, want 0 or more", p.Retries)
	c.want(p.Loss == LossTrimmed || p.Loss == LossSLEEK, "loss %q, want trimmed or sleek", p.Loss)
	c.want(0 < p.Window && p.Window <= mostMRCWindow && p.Window%mrcWindowUnit == 0,
		"psn_window %d, want a multiple of %d from %[2]d to %d", p.Window, mrcWindowUnit, mostMRCWindow)
	c.want(p.AckBytes > 0, "ack_bytes %s, want more than 0", p.AckBytes)
	return c.err()
}

// The timeout of uet-htsim (main_uec.cpp 697, uec.h): 15 us and six times the time that a full queue
// takes, at least 100 us. The queue holds one bandwidth-delay product with trimming, 5 without.
const (
	rtoBase     = 15 * unit.Microsecond
	rtoQueues   = 6
	rtoLeast    = 100 * unit.Microsecond
	queueOfTrim = 1
	queueOfDrop = 5
)

// RTO returns the timeout of a packet on a path. A queue of one bandwidth-delay product takes one base
// RTT of NSCC.
func (p *Params) RTO(path Path) unit.Time {
	if p.MRC.RTO > 0 {
		return p.MRC.RTO
	}
	queue := unit.Time(queueOfTrim)
	if p.NSCC.Trimming == TrimmingOff {
		queue = queueOfDrop
	}
	return max(rtoLeast, rtoBase+rtoQueues*queue*p.NSCC.baseRTT(path))
}

// SleekMost returns the largest window of a flow on a path as SLEEK counts it; 0 if SLEEK is not
// in use.
func (p *Params) SleekMost(path Path) unit.Bytes {
	if p.MRC.Loss != LossSLEEK {
		return 0
	}
	return max(path.MTU, unit.Bytes(p.NSCC.MaxWindow*bdp(float64(path.Slower()), p.NSCC.baseRTT(path))))
}

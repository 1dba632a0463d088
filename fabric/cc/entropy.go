package cc

// Entropy is the way in which a sender chooses the entropy of its packets, by which switches
// spread them over paths of equal cost.
type Entropy string

// Ways to choose the entropy of a packet. The Ultra Ethernet specification leaves the choice to
// the implementer (§3.6.16); these are those of its public simulator, uet-htsim (uec_mp.cpp), and
// the one of RoCEv2.
const (
	EntropyScheme     Entropy = "scheme"      // of a NIC: the scheme's
	EntropyFlow       Entropy = "flow"        // the same for all packets of a flow (RoCEv2, IBTA annex A17)
	EntropyOblivious  Entropy = "oblivious"   // one after the other, in an order that changes
	EntropyBitmap     Entropy = "bitmap"      // the same, but without those that led to congestion or loss
	EntropyREPS       Entropy = "reps"        // those that the latest ACKs have returned
	EntropyREPSLegacy Entropy = "reps-legacy" // every one that an ACK returns, once
	EntropyMixed      Entropy = "mixed"       // reps-legacy, or else bitmap
)

// Entropies lists the ways that a sender can use.
var Entropies = []Entropy{EntropyFlow, EntropyOblivious, EntropyBitmap, EntropyREPS, EntropyREPSLegacy, EntropyMixed}

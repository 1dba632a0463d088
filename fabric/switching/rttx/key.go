package rttx

import "github.com/rackfab/rackfab/fabric/splitmix"

// Protocol is the IP protocol of all packets here: UDP.
const Protocol = 17

// Fields are the header fields of a packet that identify its flow. Addresses are
// IPv4.
type Fields struct {
	Src, Dst         uint32
	SrcPort, DstPort uint16
	QP               uint32 // destination queue pair, 24 bits
}

// FlowKey is a hash of the fields of a flow ([0025]).
type FlowKey uint64

// flowKey hashes the fields selected by Key, truncated to KeyBits.
func (p *Params) flowKey(f Fields) FlowKey {
	h := splitmix.Mix(uint64(f.Src)<<32 | uint64(f.Dst))
	h = splitmix.Mix(h ^ uint64(f.SrcPort)<<16 ^ uint64(f.DstPort))
	if p.Key == KeyQueuePair {
		h = splitmix.Mix(h ^ uint64(f.QP))
	} else {
		h = splitmix.Mix(h ^ Protocol)
	}
	return FlowKey(h >> (64 - p.KeyBits))
}

// same reports whether two packets belong to the same flow.
func (k Key) same(a, b Fields) bool {
	if k == KeyFiveTuple {
		a.QP, b.QP = 0, 0
	}
	return a == b
}

// mirrored swaps source and destination ([0051]).
func (f Fields) mirrored() Fields {
	return Fields{Src: f.Dst, Dst: f.Src, SrcPort: f.DstPort, DstPort: f.SrcPort, QP: f.QP}
}

// Pair is one connection, as the control plane learns it when its queue pairs are
// created: the fields of its forward packets, and the destination queue pair of its
// return packets.
type Pair struct {
	Forward  Fields
	ReturnQP uint32
}

// returnKey holds the fields of a return packet that identify its connection.
type returnKey struct{ src, dst, qp uint32 }

// pairTable maps a return packet to the forward fields of its connection.
type pairTable map[returnKey]Fields

func newPairTable(pairs []Pair) pairTable {
	t := make(pairTable, len(pairs))
	for _, p := range pairs {
		t.add(p)
	}
	return t
}

func (t pairTable) add(p Pair) { t[returnKey{p.Forward.Dst, p.Forward.Src, p.ReturnQP}] = p.Forward }

// Learn adds a connection that is created while the switch runs.
func (c *Converter) Learn(p Pair) { c.pairs.add(p) }

// forward returns the forward fields of the flow of a return packet.
func (c *Converter) forward(f Fields) (Fields, bool) {
	if c.params.Match == MatchMirror {
		return f.mirrored(), true
	}
	forward, ok := c.pairs[returnKey{f.Src, f.Dst, f.QP}]
	return forward, ok
}

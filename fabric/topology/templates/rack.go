package templates

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Rack is the shape of a rack: its nodes, and its links in the order of ports.
type Rack struct {
	Hosts    Span
	Switches []Span
	Wires    []Wire
}

// Span are the nodes PREFIX<First>, ... , Count of them.
type Span struct {
	Prefix       string
	First, Count int
}

// String returns the names as a range, "h0..h3".
func (s Span) String() string {
	return fmt.Sprintf("%s%d..%[1]s%[3]d", s.Prefix, s.First, s.First+s.Count-1)
}

// at returns a part of the span: the part with that number, of n parts.
func (s Span) at(part, n int) Span {
	share := s.Count / n
	return Span{s.Prefix, s.First + part*share, share}
}

// Tier is a kind of link.
type Tier int

// Kinds of links: of a host to the network, between switches, within a server, and between groups
// of a dragonfly.
const (
	HostLink Tier = iota
	Uplink
	LocalLink
	GlobalLink
)

// Wire joins every node of From to every node of To with the same part. Both spans are divided
// into Parts, whose number divides both counts: To into consecutive nodes, From too, or
// in turn if Interleave is set.
type Wire struct {
	From, To   Span
	Parts      int
	Interleave bool
	Parallel   int // links between each two; 0 and 1 are one link
	Tier       Tier
}

// Nodes returns the number of nodes.
func (r *Rack) Nodes() int {
	n := r.Hosts.Count
	for _, s := range r.Switches {
		n += s.Count
	}
	return n
}

// Links returns the number of links of a rack with less than 2^20 nodes.
func (r *Rack) Links() (n int) {
	for _, w := range r.Wires {
		n += w.From.Count * (w.To.Count / w.Parts) * max(w.Parallel, 1)
	}
	return n
}

// Link returns rate and delay of the links of a tier.
func (s *Spec) Link(t Tier) (unit.Rate, unit.Time) {
	switch t {
	case Uplink:
		return s.UplinkRate, s.UplinkDelay
	case LocalLink:
		return s.LocalRate, s.LocalDelay
	case GlobalLink:
		return s.GlobalRate, s.GlobalDelay
	case HostLink:
	}
	return s.Rate, s.Delay
}

package topology

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Ways holds a value for each direction of a link: from A to B, and from B to A.
type Ways [2]float64

// String returns the common value of both directions, "1e-05", or the two values,
// "1e-05 ->, 0 <-".
func (w Ways) String() string {
	if w[Forth] == w[Back] {
		return fmt.Sprint(w[Forth])
	}
	return fmt.Sprintf("%v ->, %v <-", w[Forth], w[Back])
}

// Directions of a link, indices into Ways.
const (
	Forth = 0 // from A to B
	Back  = 1 // from B to A
)

const (
	lossDoc    = "probability that the link loses a frame, of any kind"
	corruptDoc = "probability that the link damages a frame; the receiver then drops it because of its FCS"
)

var linkSettings = []field[Link]{
	of("rate", "link rate of both directions", rates.from(slowest, fastest), func(l *Link) *unit.Rate { return &l.Rate }),
	of("delay", "propagation delay; it is the lookahead of the emulation and never 0", times.from(shortest, furthest), func(l *Link) *unit.Time { return &l.Delay }),
	cite("own: 0, preamble and gap not counted, as in ns-3; 20B: IEEE 802.3; -14B: data packets with the 48B of headers of the HPCC simulator instead of 62B",
		of("overhead", "bytes per frame on the link beyond its length: preamble and gap are 20B; negative values model shorter headers than those of RoCEv2", sizes.from(leastOverhead, 1000), func(l *Link) *unit.Bytes { return &l.Overhead })),
	of("mtu", "largest frame, from destination address to FCS", sizes.from(128, bigFrame), func(l *Link) *unit.Bytes { return &l.MTU }),
	live(fabric.KeyLoss, of("loss", lossDoc, bothWays, func(l *Link) *Ways { return &l.Loss })),
	live(fabric.KeyCorrupt, of("corrupt", corruptDoc, bothWays, func(l *Link) *Ways { return &l.Corrupt })),
}

// errorRates returns the fields of the error rates of one direction of a link.
func errorRates(way int) []field[Link] {
	return []field[Link]{
		live(fabric.KeyLoss, of("loss", lossDoc, number(unitInterval), func(l *Link) *float64 { return &l.Loss[way] })),
		live(fabric.KeyCorrupt, of("corrupt", corruptDoc, number(unitInterval), func(l *Link) *float64 { return &l.Corrupt[way] })),
	}
}

// bothWays is a probability for both directions, or a list of two.
var bothWays = func() codec[Ways] {
	one := number(unitInterval)
	const two = "a list of two: from the first end to the second, and back"
	pair := list(array{want: "a number " + one.limits + ", or " + two, min: 2, max: 2}, one, nil)
	return codec[Ways]{
		limits: one.limits + ", or " + two,
		schema: schema{"anyOf": []schema{one.schema, pair.schema}},
		read: func(n *yaml.Node) (Ways, error) {
			if n.Kind != yaml.SequenceNode {
				v, err := one.read(n)
				return Ways{v, v}, err
			}
			rates, err := pair.read(n)
			if err != nil {
				return Ways{}, err
			}
			return Ways(rates), nil
		},
		write: func(w Ways) *yaml.Node {
			if w[Forth] == w[Back] {
				return one.write(w[Forth])
			}
			return pair.write(w[:])
		},
	}.omit(isZero)
}()

// wayNames returns the names of the two directions of a link, "A->B" and "B->A".
func (s *Scenario) wayNames(link int) [2]string {
	a, z := s.Nodes[s.Links[link].A].Name, s.Nodes[s.Links[link].B].Name
	return [2]string{Forth: a + "->" + z, Back: z + "->" + a}
}

// direction is one direction of one link.
type direction struct{ link, way int }

// directions returns the directions that the part of a setting's key names: "link" is
// every direction, "A--B" both directions of a link, "A->B" one.
func (s *Scenario) directions(part string) (list []direction) {
	named := s.LinkNamed(part)
	for i := range s.Links {
		for way, name := range s.wayNames(i) {
			if part == "link" || i == named || part == name {
				list = append(list, direction{i, way})
			}
		}
	}
	return list
}

// end returns the node and port that receive from a direction of a link.
func (s *Scenario) end(d direction) (node int, port fabric.Port) {
	l := &s.Links[d.link]
	if d.way == Forth {
		return l.B, l.BPort
	}
	return l.A, l.APort
}

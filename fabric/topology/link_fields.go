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

var linkSettings = append([]field[Link]{
	quantityField(rates, "rate", "speed of both directions", slowest, fastest, func(l *Link) *unit.Rate { return &l.Rate }),
	quantityField(spans, "delay", "propagation; it is the lookahead of the emulation and never 0", shortest, furthest, func(l *Link) *unit.Time { return &l.Delay }),
	cite("own: 0, preamble and gap not counted, as in ns-3; 20B: IEEE 802.3; -14B: data packets with the 48B of headers of the HPCC simulator instead of 62B",
		quantityField(sizes, "overhead", "what each frame costs on the link beyond its length; preamble and gap are 20B, and below 0 frames count as shorter than RoCEv2's",
			leastOverhead, 1000, func(l *Link) *unit.Bytes { return &l.Overhead })),
	quantityField(sizes, "mtu", "largest frame, from destination address to FCS", 128, bigFrame, func(l *Link) *unit.Bytes { return &l.MTU }),
}, flawFields(waysField)...)

// flawFields returns the error rates of a link as fields made by one.
func flawFields(one func(key, doc string, at func(*Link) *Ways) field[Link]) []field[Link] {
	return []field[Link]{
		one("loss", "probability that the link loses a frame, of any kind", func(l *Link) *Ways { return &l.Loss }),
		one("corrupt", "probability that the link damages a frame, so that it is dropped for its FCS where it arrives", func(l *Link) *Ways { return &l.Corrupt }),
	}
}

var probability = interval{0, 1, false, false}

// waysField is a probability for both directions, or a list of two: from the first
// end to the second, and back.
func waysField(key, doc string, at func(*Link) *Ways) field[Link] {
	both := wayField(Forth)(key, doc, at)
	f := both
	f.limits += ", or a list of two: from the first end to the second, and back"
	f.schema = schema{"anyOf": []schema{both.schema, {"type": "array", "minItems": 2, "maxItems": 2, "items": both.schema}}}
	f.read = func(l *Link, n *yaml.Node) error {
		items := []*yaml.Node{n, n}
		if n.Kind == yaml.SequenceNode {
			if items = n.Content; len(items) != 2 {
				return fmt.Errorf("want a number in %s, or a list of two: from the first end to the second, and back", probability)
			}
		}
		next := *l
		for way, item := range items {
			if err := wayField(way)(key, doc, at).read(&next, item); err != nil {
				return err
			}
		}
		*at(l) = *at(&next)
		return nil
	}
	f.write = func(l *Link) *yaml.Node {
		v := at(l)
		switch {
		case *v == Ways{}:
			return nil
		case v[Forth] == v[Back]:
			return both.write(l)
		}
		list := list()
		list.Style = yaml.FlowStyle
		for way := range v {
			list.Content = append(list.Content, wayField(way)(key, doc, at).write(l))
		}
		return list
	}
	return f
}

// wayField returns a constructor of fields of one direction.
func wayField(way int) func(key, doc string, at func(*Link) *Ways) field[Link] {
	return func(key, doc string, at func(*Link) *Ways) field[Link] {
		return numberField(key, doc, probability, func(l *Link) *float64 { return &at(l)[way] })
	}
}

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

package topology

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
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

// DirectionNames returns the names of the two directions of a link, "A->B" and "B->A".
func (s *Scenario) DirectionNames(link int) [2]string {
	a, z := s.Nodes[s.Links[link].A].Name, s.Nodes[s.Links[link].B].Name
	return [2]string{Forth: a + "->" + z, Back: z + "->" + a}
}

// Direction is one direction of one link.
type Direction struct{ Link, Way int }

// Directions returns the directions that the part of a setting's key names: "link" is
// every direction, "A--B" both directions of a link, "A->B" one.
func (s *Scenario) Directions(part string) (list []Direction) {
	named := s.LinkNamed(part)
	for i := range s.Links {
		for way, name := range s.DirectionNames(i) {
			if part == "link" || i == named || part == name {
				list = append(list, Direction{i, way})
			}
		}
	}
	return list
}

// Receiver returns the node and port that receive from a direction of a link.
func (s *Scenario) Receiver(d Direction) (node int, port fabric.Port) {
	l := &s.Links[d.Link]
	if d.Way == Forth {
		return l.B, l.BPort
	}
	return l.A, l.APort
}

// LinkNamed returns the index of the link "A--B", with its ends in either order, or
// -1 if there is none.
func (s *Scenario) LinkNamed(name string) int {
	return slices.IndexFunc(s.Links, func(l Link) bool {
		a, z := s.Nodes[l.A].Name, s.Nodes[l.B].Name
		return name == a+"--"+z || name == z+"--"+a
	})
}

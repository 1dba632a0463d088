package topology

import "fmt"

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

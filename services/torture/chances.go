package torture

import "math/rand/v2"

// Chance is the weight with which a kind of fault is drawn, above 0, and the maximum number of its
// faults in a schedule.
type Chance[K ~string] struct {
	Kind         K
	Weight, Most int
}

// Chances are those of all kinds of faults.
type Chances[K ~string] []Chance[K]

// Kinds returns the kinds in their order.
func (list Chances[K]) Kinds() (kinds []K) {
	for _, c := range list {
		kinds = append(kinds, c.Kind)
	}
	return kinds
}

// Draw draws a kind of which a schedule has fewer than the maximum, and counts it in drawn. There
// must be such a kind.
func (list Chances[K]) Draw(draw *rand.Rand, drawn map[K]int) K {
	total := 0
	for _, c := range list {
		total += c.Weight
	}
	for {
		i := 0
		for n := draw.IntN(total) - list[0].Weight; n >= 0; n -= list[i].Weight {
			i++
		}
		if c := list[i]; drawn[c.Kind] < c.Most {
			drawn[c.Kind]++
			return c.Kind
		}
	}
}

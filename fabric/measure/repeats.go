package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Repeats are the variants of a scenario under each of its schemes. Variant 0 is the
// scenario as written.
type Repeats struct {
	Shift    unit.Time       `json:"most_shift_ps"` // in either direction
	Moved    []string        `json:"moved"`         // names of bursts and commands
	Variants []topology.Draw `json:"variants"`
	Schemes  []Repeated      `json:"schemes"` // in the order of Results.Runs
}

// Repeated is one scheme over all variants.
type Repeated struct {
	Scheme  string   `json:"scheme"`
	Digest  string   `json:"digest"` // over the digests of the variants, in order
	Figures []Spread `json:"figures"`
	// Runs has one run per variant, without series and nodes. It is not part of
	// results.json; it is written to a file of its own.
	Runs []*Run `json:"-"`
}

// Bound is a figure, or a lower bound of it.
type Bound struct {
	Value   float64 `json:"value"`
	AtLeast bool    `json:"at_least,omitempty"` // runs ended before the figure was reached
}

// Spread is a figure over several runs. The median is the value of one of the runs: for
// an even number of runs, the lower of the two middle values.
type Spread struct {
	Name      string    `json:"name"`
	Median    Bound     `json:"median"`
	Min       Bound     `json:"least"`
	Max       Bound     `json:"most"`
	Unreached int       `json:"unreached,omitempty"` // runs that ended before the figure was reached
	Values    []float64 `json:"values"`              // of each run; a lower bound for runs that ended before the figure was reached
}

// Spread returns the spread of the figure over the runs, of which there must be at
// least one.
func (f *Figure) Spread(runs []*Run) Spread {
	values, beyond := f.values(runs)
	return NewSpread(f.Name, values, beyond)
}

// values returns the figure of each run, and whether it is only a lower bound.
func (f *Figure) values(runs []*Run) (values []float64, beyond []bool) {
	for _, r := range runs {
		values, beyond = append(values, f.Of(r)), append(beyond, f.Unreached(r))
	}
	return values, beyond
}

// NewSpread returns the spread of values, of which there must be at least one. For
// values with beyond set only a lower bound is known.
func NewSpread(name string, values []float64, beyond []bool) Spread {
	s := Spread{Name: name, Values: values}
	for _, b := range beyond {
		if b {
			s.Unreached++
		}
	}
	at := func(perMille int) Bound {
		i, atLeast := Rank(values, beyond, perMille)
		return Bound{values[i], atLeast}
	}
	s.Min, s.Median, s.Max = at(0), at(500), at(1000)
	return s
}

// Rank returns the index of the nearest-rank percentile of values, 0 to 1000 per mille.
// For values with beyond set only a lower bound is known. If the percentile depends on
// their true values, atLeast is true and index is that of the percentile's lower bound.
func Rank(values []float64, beyond []bool, perMille int) (index int, atLeast bool) {
	order := make([]int, len(values))
	most := make([]float64, len(values))
	for i, v := range values {
		if order[i], most[i] = i, v; beyond[i] {
			most[i] = math.Inf(1)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	slices.Sort(most)
	index = order[rank(len(order), perMille)]
	return index, Quantile(most, perMille) > values[index]
}

// NewRepeats combines the runs of each scheme, one per variant.
func NewRepeats(s *topology.Scenario, most unit.Time, bySchemes [][]*Run) (*Repeats, error) {
	r := &Repeats{Shift: most, Moved: s.Moved()}
	for k := range bySchemes[0] {
		r.Variants = append(r.Variants, s.Draw(k, most))
	}
	var all []*Run
	for _, runs := range bySchemes {
		all = append(all, runs...)
	}
	figures := Figures(s)
	for _, link := range PausedLinks(all) {
		figures = append(figures, PauseFigures(link)...)
	}
	for _, runs := range bySchemes {
		one := Repeated{Scheme: runs[0].Scheme, Runs: runs}
		var err error
		if one.Digest, err = Digests(runs); err != nil {
			return nil, err
		}
		for i := range figures {
			one.Figures = append(one.Figures, figures[i].Spread(runs))
		}
		r.Schemes = append(r.Schemes, one)
	}
	return r, nil
}

// Digests returns the hash over the digests of runs, in their order.
func Digests(runs []*Run) (string, error) {
	all := make([]uint64, len(runs))
	for i, r := range runs {
		var err error
		if all[i], err = strconv.ParseUint(r.Digest, 16, 64); err != nil {
			return "", fmt.Errorf("measure: digest %q of a run: %w", r.Digest, err)
		}
	}
	return fmt.Sprintf("%016x", node.Combine(all)), nil
}

package explain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// compare makes a link the busiest of the message if it took more of its time than the one so far. Those of
// equal time are compared by name, so that the order of observation does not matter.
func (m *PathMessage) compare(t LinkTime) {
	if t.Lost+t.Trimmed > 0 {
		t.Recovery = max(0, m.End-m.Begin-t.Total())
	}
	if m.Busiest.Link == "" || cmp.Or(cmp.Compare(t.Total(), m.Busiest.Total()), cmp.Compare(m.Busiest.Link, t.Link)) > 0 {
		m.Busiest = t
	}
}

// sum adds up the times of the path by link.
func (r *CollectiveReport) sum() {
	at := map[string]int{}
	for i := range r.Path {
		m := &r.Path[i]
		b := &m.Busiest
		r.Delays += m.End - m.Begin - b.Total()
		k, known := at[b.Link]
		if !known && b.Link != "" {
			k = len(r.Links)
			at[b.Link] = k
			r.Links = append(r.Links, LinkCost{LinkTime: LinkTime{Link: b.Link, Rate: b.Rate}})
		}
		if b.Link != "" {
			r.Links[k].add(b)
		}
	}
	slices.SortStableFunc(r.Links, func(a, b LinkCost) int { return cmp.Compare(b.Total(), a.Total()) })
}

// add adds the time of a message.
func (c *LinkCost) add(t *LinkTime) {
	c.Messages++
	c.Data, c.Shared, c.Paused, c.Recovery = c.Data+t.Data, c.Shared+t.Shared, c.Paused+t.Paused, c.Recovery+t.Recovery
	c.Lost, c.Trimmed = c.Lost+t.Lost, c.Trimmed+t.Trimmed
	c.Others, c.Pausers = merge(c.Others, t.Others), merge(c.Pausers, t.Pausers)
}

// merge adds the times of equal names.
func merge(a, b []TimeOf) []TimeOf {
	sum := map[string]unit.Time{}
	for _, list := range [][]TimeOf{a, b} {
		for _, t := range list {
			sum[t.Name] += t.Time
		}
	}
	return longestFirst(sum)
}

// longestFirst lists the times, those of equal length by name.
func longestFirst(of map[string]unit.Time) (list []TimeOf) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, TimeOf{name, of[name]})
	}
	slices.SortStableFunc(list, func(a, b TimeOf) int { return cmp.Compare(b.Time, a.Time) })
	return list
}

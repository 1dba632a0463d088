package topology

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rackfab/rackfab/fabric"
)

// Fold returns the scenario without the flows of its changes in Flows; Flow derives them from
// their bursts. A live run uses this form, so that a burst costs the same memory whatever its
// number of flows. It is extended in place (scenariofile.Extend): extend only the latest version.
func (s *Scenario) Fold() *Scenario {
	folded := *s
	folded.Flows, folded.Folded = slices.Clip(s.Flows[:s.InitialFlows()]), true
	return &folded
}

// FlowCount returns the number of flows, those of changes included.
func (s *Scenario) FlowCount() int {
	if n := len(s.Bursts); s.Folded && n > 0 && s.Bursts[n-1].Change {
		return s.Bursts[n-1].First + s.Bursts[n-1].Flows
	}
	return len(s.Flows)
}

// Flow returns the flow with an index below FlowCount.
func (s *Scenario) Flow(i int) Flow {
	if i < len(s.Flows) {
		return s.Flows[i]
	}
	return s.flowOf(s.BurstOf(i), i)
}

// BurstOf returns the index of the burst of flow i, -1 if it is a single flow.
func (s *Scenario) BurstOf(i int) int {
	if i < len(s.Flows) {
		return s.Flows[i].Burst
	}
	return sort.Search(len(s.Bursts), func(k int) bool { return s.Bursts[k].First > i }) - 1
}

// flowOf derives flow i from its burst, which a change starts.
func (s *Scenario) flowOf(burst, i int) Flow {
	b := &s.Bursts[burst]
	each := b.Flows / len(b.From)
	from, number := b.From[(i-b.First)/each], (i-b.First)%each
	return Flow{
		Name: fmt.Sprintf("%s/%s/%d", b.Name, s.Nodes[from].Name, number), From: from, To: b.To,
		Size: b.Size, Start: b.At, Class: b.Class, Burst: burst, Source: SourcePort(s.Seed, fabric.FlowID(i)),
	}
}

// MostSeries is the number of bursts of changes whose flows have series of their own in a live run. The
// flows of later bursts count in the series Overflow, so that neither nodes nor the collector need
// memory for each burst.
const (
	MostSeries = 64
	Overflow   = "(overflow)"
)

// Series returns the name under which the figures of flow i count over time: that of its burst, or else its
// own.
func (s *Scenario) Series(i int) string {
	k := s.BurstOf(i)
	switch {
	case k < 0:
		return s.Flows[i].Name
	case s.Folded && k >= s.firstFolded()+MostSeries:
		return Overflow
	}
	return s.Bursts[k].Name
}

// FlowsNamed returns the indices of the flow of that name, or of the flows of the
// burst of that name.
func (s *Scenario) FlowsNamed(name string) (list []int) {
	for i, f := range s.Flows {
		if f.Name == name || f.Burst >= 0 && s.Bursts[f.Burst].Name == name {
			list = append(list, i)
		}
	}
	for k := s.firstFolded(); k < len(s.Bursts); k++ {
		b := &s.Bursts[k]
		rest, ok := strings.CutPrefix(name, b.Name)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		for i := b.First; i < b.First+b.Flows; i++ {
			if b.Name == name || s.flowOf(k, i).Name == name {
				list = append(list, i)
			}
		}
	}
	return list
}

// FlowsMatching returns the ranges [first, end) of the indices of the flows whose names, or those of
// their bursts, match.
func (s *Scenario) FlowsMatching(matches func(name string) bool) (ranges [][2]int) {
	add := func(first, end int) {
		if n := len(ranges); n > 0 && ranges[n-1][1] == first {
			ranges[n-1][1] = end
			return
		}
		ranges = append(ranges, [2]int{first, end})
	}
	for i, f := range s.Flows {
		if matches(f.Name) || f.Burst >= 0 && matches(s.Bursts[f.Burst].Name) {
			add(i, i+1)
		}
	}
	for k := s.firstFolded(); k < len(s.Bursts); k++ {
		b := &s.Bursts[k]
		if matches(b.Name) {
			add(b.First, b.First+b.Flows)
			continue
		}
		for i := b.First; i < b.First+b.Flows; i++ {
			if matches(s.flowOf(k, i).Name) {
				add(i, i+1)
			}
		}
	}
	return ranges
}

// firstFolded returns the index of the first burst whose flows are not in Flows.
func (s *Scenario) firstFolded() int {
	if !s.Folded {
		return len(s.Bursts)
	}
	return sort.Search(len(s.Bursts), func(k int) bool { return s.Bursts[k].Change })
}

package lab_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// randomCut draws a group for each node, of at most n groups, none of them empty.
func randomCut(t *rapid.T, nodes, n int) []int {
	of := make([]int, nodes)
	for i := range of {
		of[i] = rapid.IntRange(0, n-1).Draw(t, "group")
	}
	used := slices.Compact(slices.Sorted(slices.Values(of)))
	for i := range of {
		of[i] = slices.Index(used, of[i])
	}
	return of
}

// seen is what a run shows to its observers.
type seen struct {
	run    *measure.Run
	notes  [][]fabric.Note // by node
	frames [][]string      // by node
}

// watched runs a scenario with the given groups, in steps.
func watched(t *rapid.T, s *topology.Scenario, of []int, steps int) seen {
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Cut(of)
	got := seen{notes: make([][]fabric.Note, len(s.Nodes)), frames: make([][]string, len(s.Nodes))}
	l.PerFrame = true
	l.Listen = func(node int, notes []fabric.Note) { got.notes[node] = append(got.notes[node], notes...) }
	for i := range s.Nodes {
		l.Look(i, &node.Tap{Frame: func(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
			got.frames[i] = append(got.frames[i], fmt.Sprintf("%d %d %s %x", at, port, way, f.Header()))
		}})
	}
	for range l.Steps(steps, l.Run) {
	}
	if got.run, err = l.Outcome(); err != nil {
		t.Fatal(err)
	}
	return got
}

// Groups change neither the figures of a run, nor the notes and frames that its
// observers see at each node.
func TestGroupsDoNotChangeTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomRack(t)
		s.Duration = 300 * unit.Microsecond
		s = steering.New(s, rapid.Uint64().Draw(t, "changes")).Extend(s, 0, s.Duration, rapid.IntRange(0, 4).Draw(t, "number of changes"))
		one := watched(t, s, make([]int, len(s.Nodes)), 1)
		many := watched(t, s, randomCut(t, len(s.Nodes), 4), rapid.IntRange(1, 20).Draw(t, "steps"))
		if diff := cmp.Diff(one.run, many.run, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Fatalf("groups change the figures:\n%s", diff)
		}
		for i, n := range s.Nodes {
			if !slices.Equal(one.notes[i], many.notes[i]) {
				t.Fatalf("%s: groups change the notes", n.Name)
			}
			if !slices.Equal(one.frames[i], many.frames[i]) {
				t.Fatalf("%s: groups change the frames", n.Name)
			}
		}
	})
}

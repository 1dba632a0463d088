package study

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// instants are the instants to which the burst of rttx-16to2 is moved.
var instants = []string{"200us", "240us", "280us", "320us", "360us", "390us"}

// atInstants runs the 16-to-2 rack with the burst at each instant.
func atInstants(t *testing.T, set ...topology.Setting) (runs []*measure.Run) {
	t.Helper()
	for _, at := range instants {
		s, err := builtin("rttx-16to2", append(settings("burst.at", at, "duration", "5ms"), set...))
		if err != nil {
			t.Fatal(err)
		}
		run, err := lab.Measure(s)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

// least returns the smallest goodput of F0 in the burst.
func least(runs []*measure.Run) unit.Rate {
	rate := runs[0].Flows[0].BurstGoodput
	for _, run := range runs {
		rate = min(rate, run.Flows[0].BurstGoodput)
	}
	return rate
}

// RTTX-54: with marks that grade e, and the D of the path, no PAUSE reaches F0's path
// at any instant, and F0 gets the rate that the burst leaves free. RED from 5 to 200
// KB, or the D of the document's example, protects it at some instants only.
func TestGradedMarksAndPathDProtectTheVictim(t *testing.T) {
	graded := settings("switch.kmin", "20KB", "switch.kmax", "20KB")
	spared := atInstants(t, graded...)
	for i, run := range spared {
		if run.Tree != 0 || run.Flows[0].BurstGoodput < 28*unit.GigabitPerSec {
			t.Errorf("burst at %s: tree %s, F0 %s", instants[i], run.Tree, run.Flows[0].BurstGoodput)
		}
	}
	for name, runs := range map[string][]*measure.Run{
		"TIMELY":                  atInstants(t, settings("scheme", "timely")...),
		"RED from 5 to 200 KB":    atInstants(t),
		"graded marks and D 2 us": atInstants(t, append(graded, settings("switch.rttx_d", "2us")...)...),
	} {
		paused := slices.ContainsFunc(runs, func(run *measure.Run) bool { return run.Tree > 0 })
		if !paused || least(runs) >= least(spared) {
			t.Errorf("%s: paused at some instant: %v; least of F0 %s, want less than %s", name, paused, least(runs), least(spared))
		}
	}
}

package lab_test

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// under returns the built-in scenario under a scheme.
func under(t *testing.T, name, scheme string) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin(name)
	s, err := scenariofile.ParseWith(name, text, []topology.Setting{{Key: "scheme", Value: scheme}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every message of an incast and of a permutation on a fat tree completes under every
// scheme.
func TestFatTreesCompleteUnderEveryScheme(t *testing.T) {
	for _, scheme := range cc.Names() {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			run := measured(t, under(t, "incast-8", scheme))
			if run.Burst.Completed != 8 || run.Malformed != 0 {
				t.Errorf("incast: %d of 8 complete, %d malformed frames", run.Burst.Completed, run.Malformed)
			}
			run = measured(t, under(t, "permutation-8", scheme))
			for _, f := range run.Flows {
				if f.Bytes != 10_000_000 || f.End >= run.FabricTime {
					t.Errorf("permutation: %s has %d bytes", f.Name, f.Bytes)
				}
			}
		})
	}
}

// The flows of path-failure continue under every scheme after the spine has failed. All rates
// are a tenth, so that the test is short.
func TestFlowsSurviveTheFailureOfASpine(t *testing.T) {
	text, _ := scenariofile.Builtin("path-failure")
	slower := strings.ReplaceAll(string(text), "00Gbps", "0Gbps")
	for _, scheme := range slowtest.First(t, 5, cc.Names(), "schemes") {
		t.Run(scheme, func(t *testing.T) {
			s, err := scenariofile.ParseWith("path-failure", []byte(slower), []topology.Setting{{Key: "scheme", Value: scheme}})
			if err != nil {
				t.Fatal(err)
			}
			run := measured(t, s)
			if run.Drops == 0 {
				t.Error("the failure lost no frame")
			}
			for _, g := range run.Series.Goodput {
				if sum(g.Bins[4*unit.Millisecond/s.Bin:]) == 0 {
					t.Errorf("%s delivers nothing from 1 ms after the failure on", g.Name)
				}
			}
		})
	}
}

func sum(bins []int64) (total int64) {
	for _, b := range bins {
		total += b
	}
	return total
}

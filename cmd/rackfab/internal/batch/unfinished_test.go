package batch

import (
	"context"
	"errors"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// failing is an engine that runs one scenario at a time and cannot run timely.
type failing struct {
	engine.Engine
	failure error
}

func (failing) Lanes() int { return 1 }

func (e failing) Run(ctx context.Context, s *topology.Scenario, show func(engine.Advance), w engine.Want) (*measure.Run, error) {
	if s.Scheme == "timely" {
		return nil, e.failure
	}
	return e.Engine.Run(ctx, s, show, w)
}

// A run that fails keeps the schemes whose repetitions have all finished, and says which have not.
func TestFailedRunKeepsFinishedSchemes(t *testing.T) {
	for _, test := range []struct {
		failure error
		text    string
	}{
		{errors.New("no such luck"), "repeatable under timely: no such luck\nnot finished, and not in the results: timely, pcn"},
		{context.Canceled, "not finished, and not in the results: timely, pcn"},
	} {
		for _, n := range []int{1, 2} {
			f := repeatFlags{n: n}
			v := &varied{Variants: []*variant{{scenarios: repeatableUnder(t, "dcqcn", "timely", "pcn")}}}
			runs, err := runRepeated(t.Context(), failing{inMemory(t), test.failure}, v.Variants[0].scenarios, f)
			if err := errors.Join(v.keep(runs, f), v.unfinished(err)); err != nil {
				t.Fatal(err)
			}
			one := v.Variants[0]
			if len(one.Runs) != 1 || one.Runs[0].Scheme != "dcqcn" || len(one.scenarios) != 1 || one.scenarios[0].Scheme != "dcqcn" {
				t.Errorf("%d runs of %d scenarios are kept, want that of dcqcn", len(one.Runs), len(one.scenarios))
			}
			if n == 2 && (len(one.Repeats.Schemes) != 1 || len(one.Repeats.Schemes[0].Runs) != 2) {
				t.Errorf("the repetitions are %+v", one.Repeats)
			}
			if v.failure == nil || v.failure.Error() != test.text {
				t.Errorf("the error is %v, want %s", v.failure, test.text)
			}
			if interrupted := (cli.SignalError{}); !errors.As(v.failure, &interrupted) {
				t.Errorf("a signal hides %q", v.failure)
			}
		}
	}
}

// A run without a finished scheme has no results, only its error.
func TestFailedRunWithoutResults(t *testing.T) {
	v := &varied{Variants: []*variant{{Value: "1KB", scenarios: repeatableUnder(t, "timely", "pcn")}}}
	why := errors.New("no such luck")
	runs, err := runRepeated(t.Context(), failing{inMemory(t), why}, v.Variants[0].scenarios, repeatFlags{n: 1})
	if err := errors.Join(v.keep(runs, repeatFlags{n: 1}), v.unfinished(err)); !errors.Is(err, why) || len(v.Variants) != 0 {
		t.Errorf("%v, with %d variants", err, len(v.Variants))
	}
}

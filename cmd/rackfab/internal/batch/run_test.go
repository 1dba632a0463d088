package batch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// meeting is an engine whose runs each wait until another run has started.
type meeting struct{ here chan struct{} }

func (m meeting) Run(ctx context.Context, s *topology.Scenario, show func(engine.Advance), w engine.Want) (*measure.Run, error) {
	show(engine.Advance{Time: s.Duration / 2, FrameHops: 1})
	select {
	case m.here <- struct{}{}:
	case <-m.here:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &measure.Run{Scheme: s.Scheme}, nil
}

func (meeting) Lanes() int   { return 2 }
func (meeting) Workers() int { return 0 }
func (meeting) Close()       {}

func TestParallelRunsPrintInOrder(t *testing.T) {
	scenarios := []*topology.Scenario{{Scheme: "b", Duration: 10}, {Scheme: "a", Duration: 20}}
	runs, err := runAll(t.Context(), meeting{make(chan struct{})}, scenarios, func(int) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if runs[0].Scheme != "b" || runs[1].Scheme != "a" {
		t.Errorf("%s before %s", runs[0].Scheme, runs[1].Scheme)
	}
}

// broken is an engine that cannot run scheme "bad".
type broken struct{ meeting }

func (b broken) Run(ctx context.Context, s *topology.Scenario, show func(engine.Advance), w engine.Want) (*measure.Run, error) {
	if s.Scheme == "bad" {
		return nil, errors.New("no such luck")
	}
	return b.meeting.Run(ctx, s, show, w)
}

func TestFirstErrorEndsTheOtherRuns(t *testing.T) {
	scenarios := []*topology.Scenario{{Name: "x", Scheme: "good", Duration: 10}, {Name: "x", Scheme: "bad", Duration: 10}, {Name: "x", Scheme: "late", Duration: 10}}
	_, err := runAll(t.Context(), broken{meeting{make(chan struct{})}}, scenarios, func(int) bool { return false })
	if err == nil || !strings.Contains(err.Error(), "x under bad: no such luck") {
		t.Errorf("got %v", err)
	}
}

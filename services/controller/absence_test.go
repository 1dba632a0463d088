package controller

import (
	"errors"
	"testing"
)

// While a run waits for its nodes, a call says that it is starting, and otherwise how to start
// a rack.
func TestACallWithoutARackSaysWhetherOneStarts(t *testing.T) {
	s := &service{turn: make(chan struct{}, 1)}
	nothing := func(*run) error { return nil }
	if err := s.call(nothing); !errors.Is(err, errNoRack) {
		t.Errorf("without a run: %v", err)
	}
	s.turn <- struct{}{}
	if err := s.call(nothing); !errors.Is(err, errStarting) {
		t.Errorf("while a run starts: %v", err)
	}
	s.present.Store(&run{ready: make(chan struct{})})
	if err := s.call(nothing); !errors.Is(err, errStarting) {
		t.Errorf("before the nodes are ready: %v", err)
	}
}

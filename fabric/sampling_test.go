package fabric_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

func TestSamplingNamesTheLastInstantOfTheSpan(t *testing.T) {
	s := fabric.Sampling{Every: 50, End: 120}
	for now, want := range map[unit.Time]unit.Time{
		0: 49, 49: 49, 50: 99, 99: 99, 100: 119, 119: 119, 120: unit.Never, 500: unit.Never,
	} {
		if got := s.After(now); got != want {
			t.Errorf("after %d: %d, want %d", now, got, want)
		}
	}
	if got := (fabric.Sampling{End: 100}).After(3); got != unit.Never {
		t.Errorf("no sampling, and yet a sample at %d", got)
	}
}

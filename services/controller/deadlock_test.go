package controller

import (
	"os"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// PCN-63: The status of a live rack names a PFC deadlock when its pauses have lasted for longer than one PAUSE
// frame can pause, and not before.
func TestStatusNamesADeadlock(t *testing.T) {
	text, err := os.ReadFile("../../fabric/lab/testdata/ring5.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := startedWith(t, Options{}, "live: true\nscheme: pfc\n"+string(text))
	if s := r.step(t, 933*unit.Microsecond); s.GetDeadlocks() != nil {
		t.Errorf("at %s: %v", unit.Time(s.GetAtPs()), s.GetDeadlocks())
	}
	list := r.step(t, unit.Microsecond).GetDeadlocks()
	if len(list) != 1 || list[0].GetClass() != 3 || list[0].GetSincePs() != 94_354_400 ||
		!slices.Equal(list[0].GetLinks(), []string{"s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"}) {
		t.Errorf("deadlocks %v", list)
	}
}

package tracing

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
)

// A request that waits for the same bound again repeats its event, whatever the room is; for another
// bound it has an event of its own, which has that reason.
func TestEventsOfOneBoundAreCounted(t *testing.T) {
	var s Span
	for _, bound := range []fabric.Bound{fabric.BoundHead, fabric.BoundHead, fabric.BoundOpen} {
		s.event(&fabric.Note{Event: fabric.NewRoomExceeded(fabric.PassedOver, 2000, 500, bound)})
		s.event(&fabric.Note{Event: fabric.NewRoomExceeded(fabric.PassedOver, 2000, 700, bound)})
	}
	if e := s.Events; len(e) != 2 || e[0].Bound() != fabric.BoundHead || e[0].Times != 4 || e[1].Bound() != fabric.BoundOpen || e[1].Times != 2 {
		t.Errorf("%+v", e)
	}
}

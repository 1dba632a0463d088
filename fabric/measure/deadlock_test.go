package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A deadlock is a cycle of stuck buffers of one class. A buffer with a frame for a buffer that is not stuck
// is relieved, and so are all that wait for it; a buffer that waits for the cycle is not part of it.
func TestDeadlocks(t *testing.T) {
	s := &topology.Scenario{Name: "triangle"} // port 0 of each switch goes to the next one, port 1 to the one before
	for i, name := range []string{"a", "b", "c", "outside"} {
		s.Nodes = append(s.Nodes, topology.Node{Name: name, Kind: topology.Switch, Host: -1})
		if i < 3 {
			s.Links = append(s.Links, topology.Link{A: i, APort: 0, B: (i + 1) % 3, BPort: 1, Rate: 40 * unit.GigabitPerSec})
		}
	}
	s.Links = append(s.Links, topology.Link{A: 3, APort: 0, B: 0, BPort: 2, Rate: 40 * unit.GigabitPerSec})
	stuck := func(ingress fabric.Port, class fabric.Priority, since unit.Time, egress ...fabric.Port) []fabric.Stuck {
		return []fabric.Stuck{{Ingress: ingress, Class: class, Egress: egress, Since: since}}
	}
	cycle := []Deadlock{{Class: 3, Links: []string{"a->b", "b->c", "c->a"}, Since: 30 * us}}
	for name, c := range map[string]struct {
		nodes map[int][]fabric.Stuck
		want  []Deadlock
	}{
		"a cycle":                   {map[int][]fabric.Stuck{0: stuck(1, 3, 10*us, 0), 1: stuck(1, 3, 30*us, 0), 2: stuck(1, 3, 20*us, 0)}, cycle},
		"a buffer outside":          {map[int][]fabric.Stuck{0: append(stuck(2, 3, 40*us, 0), stuck(1, 3, 10*us, 0)...), 1: stuck(1, 3, 30*us, 0), 2: stuck(1, 3, 20*us, 0)}, cycle},
		"a chain":                   {map[int][]fabric.Stuck{0: stuck(1, 3, 10*us, 0), 1: stuck(1, 3, 30*us, 0)}, nil},
		"a frame that moves":        {map[int][]fabric.Stuck{0: stuck(1, 3, 10*us, 0), 1: stuck(1, 3, 30*us, 0, 1), 2: stuck(1, 3, 20*us, 0)}, nil},
		"several classes":           {map[int][]fabric.Stuck{0: stuck(1, 3, 10*us, 0), 1: stuck(1, 4, 30*us, 0), 2: stuck(1, 3, 20*us, 0)}, nil},
		"a pause that may end soon": {map[int][]fabric.Stuck{0: stuck(1, 3, 10*us, 0), 1: stuck(1, 3, 162*us, 0), 2: stuck(1, 3, 20*us, 0)}, nil},
	} {
		got := Deadlocks(s, 1000*us, func(node int) []fabric.Stuck { return c.nodes[node] })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

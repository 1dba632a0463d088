package switching

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
)

func TestECMPSpreadsFlowsAndPinsEachToOnePath(t *testing.T) {
	e := newECMP(1, [][]fabric.Port{{4, 5, 6}})
	count := map[fabric.Port]int{}
	const flows = 3000
	for flow := range uint32(flows) {
		a, ok := e.route(0, packet(0, flow, lossless, frame.ECT0, 1, 1000))
		b, _ := e.route(0, packet(0, flow, control, frame.CE, 2, 64))
		if !ok || a != b {
			t.Fatalf("flow %d takes ports %d and %d", flow, a, b)
		}
		count[a]++
	}
	for _, port := range []fabric.Port{4, 5, 6} {
		if n := count[port]; n < flows/3-150 || n > flows/3+150 { // 5 sigma are 129
			t.Errorf("port %d has %d of %d flows", port, n, flows)
		}
	}
}

func TestECMPSeeds(t *testing.T) {
	routes := [][]fabric.Port{{0, 1}}
	a, b := newECMP(1, routes), newECMP(2, routes)
	same := 0
	for flow := range uint32(1000) {
		f := packet(0, flow, lossless, frame.ECT0, 0, 1000)
		p, _ := a.route(0, f)
		q, _ := b.route(0, f)
		if p == q {
			same++
		}
	}
	if same < 400 || same > 600 {
		t.Errorf("two seeds agree on %d of 1000 flows", same)
	}
}

func TestNoRoute(t *testing.T) {
	cfg := rackConfig(2)
	cfg.Routes[1] = nil
	r := newRig(t, cfg)
	for _, host := range []int{1, 2, 70000} {
		r.out.Reset()
		r.arrive(0, 0, data(host, 3, lossless))
		want := fabric.Note{Event: fabric.NewDropped(size, fabric.DropNoRoute), Port: 0, Priority: lossless, Flow: 3}
		if got := r.out.Notes; len(got) != 1 || got[0] != want {
			t.Errorf("host %d: noted %+v, want %+v", host, got, want)
		}
	}
}

// The twin of the table is the list of ports by host.
func TestRoutesAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawPort), 0, 3), 0, 20).Draw(t, "routes")
		e := newECMP(1, nil)
		e.setRoutes(list)
		for host := range len(list) + 2 {
			var want []fabric.Port
			if host < len(list) {
				want = list[host]
			}
			port, number := e.lookUp(host)
			set := e.sets[number]
			if port >= 0 {
				set = []fabric.Port{port}
			}
			if !slices.Equal(set, want) || port >= 0 != (len(want) == 1) {
				t.Fatalf("host %d: port %d, set %v, want %v", host, port, set, want)
			}
		}
		if len(e.sets) > 1+len(list) {
			t.Fatalf("%d sets for %d hosts", len(e.sets), len(list))
		}
	})
}

func drawPort(t *rapid.T) fabric.Port { return fabric.Port(rapid.IntRange(0, 2).Draw(t, "port")) }

func TestEqualRoutesShareASet(t *testing.T) {
	e := newECMP(1, [][]fabric.Port{{0, 1}, {2}, {0, 1}, {1, 2}, nil})
	if want := [][]fabric.Port{nil, {0, 1}, {1, 2}}; !slices.EqualFunc(e.sets, want, slices.Equal[[]fabric.Port]) {
		t.Errorf("sets %v, want %v", e.sets, want)
	}
}

package frame

import "testing"

func TestPoolReturnsTheFramePutBackLast(t *testing.T) {
	var p Pool
	a, b := p.Get(), p.Get()
	if a == b {
		t.Fatal("one frame twice")
	}
	p.Put(a)
	p.Put(b)
	if p.Get() != b || p.Get() != a {
		t.Error("frames do not return in reverse order")
	}
	if c := p.Get(); c == a || c == b {
		t.Error("a frame in use was returned")
	}
}

func TestNilPoolAllocates(t *testing.T) {
	var p *Pool
	f := p.Get()
	p.Put(f)
	if p.Get() == f {
		t.Error("a nil pool kept a frame")
	}
}

// Move takes at most as many frames as there are, those put back last.
func TestPoolMovesFrames(t *testing.T) {
	var p Pool
	a, b, c := new(Frame), new(Frame), new(Frame)
	for _, f := range []*Frame{a, b, c} {
		p.Put(f)
	}
	if got := p.Move([]*Frame{nil}, 2); len(got) != 3 || got[1] != b || got[2] != c {
		t.Errorf("moved %p, want %p and %p after the list", got, b, c)
	}
	if got := p.Move(nil, 2); len(got) != 1 || got[0] != a {
		t.Errorf("moved %p, want %p", got, a)
	}
	if got := p.Move(nil, 1); len(got) != 0 {
		t.Errorf("moved %p out of an empty pool", got)
	}
}

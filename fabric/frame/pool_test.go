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

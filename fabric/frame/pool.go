package frame

// Pool holds frames that are out of use, so that a loop allocates frames only until it
// has as many as are ever in flight and queued at once. The frame put back last, which
// the cache still contains, is the next in use. The zero Pool is empty and ready to use.
// One loop uses it. A nil Pool allocates every frame and discards those put back.
//
// Invariant: a frame in a Pool is referenced by nothing else.
type Pool struct{ free []*Frame }

// Get returns a frame for the caller to fill. Its content is undefined.
func (p *Pool) Get() *Frame {
	if p == nil || len(p.free) == 0 {
		return new(Frame)
	}
	last := len(p.free) - 1
	f := p.free[last]
	p.free = p.free[:last]
	return f
}

// Put takes back a frame that the caller no longer uses.
func (p *Pool) Put(f *Frame) {
	if p != nil {
		p.free = append(p.free, f)
	}
}

// Move appends up to n frames of the pool to a list, which has them from now on.
func (p *Pool) Move(to []*Frame, n int) []*Frame {
	at := max(0, len(p.free)-n)
	to = append(to, p.free[at:]...)
	p.free = p.free[:at]
	return to
}

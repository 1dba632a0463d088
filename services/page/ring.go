package page

// Limits of the recorded frames of a run.
const (
	ringFrames = 900
	ringBytes  = 24 << 20
)

// ring records a run in bounded memory: when it is full, it drops every second frame of
// its older half. So it reaches back to the start and is finest near the end.
type ring struct {
	frames []frame
	bytes  int
}

// add appends a frame that is later than all others.
func (r *ring) add(f frame) {
	if len(r.frames) == ringFrames {
		r.thin()
	}
	r.frames = append(r.frames, f)
	r.bytes += len(f.json)
	for r.bytes > ringBytes && len(r.frames) > 2 {
		r.thin()
	}
}

func (r *ring) thin() {
	half, kept := len(r.frames)/2, r.frames[:0]
	for i, f := range r.frames {
		if i < half && i%2 == 1 {
			r.bytes -= len(f.json)
			continue
		}
		kept = append(kept, f)
	}
	if len(kept) == len(r.frames) { // two or three long frames
		r.bytes -= len(kept[0].json)
		kept = append(kept[:0], kept[1:]...)
	}
	clear(r.frames[len(kept):])
	r.frames = kept
}

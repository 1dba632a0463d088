package page

import (
	"math"
	"sort"
)

// ringBytes limits the memory of the recorded frames of a run: some 13,000 frames of a rack
// of 20 nodes, which take seven minutes, and 200 of one of 1,000 nodes.
const ringBytes = 24 << 20

// Limits of an answer with recorded frames.
const (
	answerFrames = 900
	answerBytes  = 6 << 20
)

// ring records a run in bounded memory: when it is full, it drops every second frame of
// its older half. So it reaches back to the start and is finest near the end.
type ring struct {
	frames []frame
	bytes  int
}

// add appends a frame that is later than all others.
func (r *ring) add(f frame) {
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

// between returns the frames with from <= at <= to, and the last one before them. If they
// exceed the limits of an answer, it returns every n-th of them, and the last one.
func (r *ring) between(from, to int64) []frame {
	find := func(at int64) int {
		return sort.Search(len(r.frames), func(i int) bool { return r.frames[i].at >= at })
	}
	first, end := max(find(from)-1, 0), len(r.frames)
	if to < math.MaxInt64 {
		end = find(to + 1)
	}
	if first >= end {
		return nil
	}
	list, bytes := r.frames[first:end], 0
	for _, f := range list {
		bytes += len(f.json)
	}
	n := max((len(list)+answerFrames-1)/answerFrames, (bytes+answerBytes-1)/answerBytes, 1)
	out := make([]frame, 0, len(list)/n+2)
	for i := 0; i < len(list)-1; i += n {
		out = append(out, list[i])
	}
	return append(out, list[len(list)-1])
}

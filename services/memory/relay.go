package memory

import (
	"sync"

	"github.com/rackfab/rackfab/fabric"
)

// Bounds of a relay. The loop that drives the rack waits where a relay is full.
const (
	packSize = 4096 // notes
	packs    = 4
)

// relay hands notes on to a goroutine of its own, so that the loop that drives the
// rack pays for copying them and no more.
type relay struct {
	open  *pack
	full  chan *pack
	empty chan *pack
	done  sync.WaitGroup
}

// pack is notes of several nodes in the order in which they were made.
type pack struct {
	notes []fabric.Note
	cuts  []cut
}

// cut says whose notes stand before an index, and behind the cut before.
type cut struct{ node, end int }

// newRelay makes a relay that has take called with the notes of a node.
func newRelay(take func(node int, notes []fabric.Note)) *relay {
	r := &relay{open: &pack{}, full: make(chan *pack, packs), empty: make(chan *pack, packs+1)}
	for range packs {
		r.empty <- &pack{}
	}
	r.done.Go(func() {
		for p := range r.full {
			from := 0
			for _, c := range p.cuts {
				take(c.node, p.notes[from:c.end])
				from = c.end
			}
			p.notes, p.cuts = p.notes[:0], p.cuts[:0]
			r.empty <- p
		}
	})
	return r
}

// put takes notes of a node, which the caller may overwrite afterwards.
func (r *relay) put(node int, notes []fabric.Note) {
	if len(notes) == 0 {
		return
	}
	p := r.open
	p.notes = append(p.notes, notes...)
	p.cuts = append(p.cuts, cut{node, len(p.notes)})
	if len(p.notes) >= packSize {
		r.full <- p
		r.open = <-r.empty
	}
}

// close hands on the rest and waits until everything was taken. A second call does
// nothing.
func (r *relay) close() {
	if r.open == nil {
		return
	}
	r.full <- r.open
	r.open = nil
	close(r.full)
	r.done.Wait()
}

package imports

import "fmt"

// A workload with pp stages has the layers of one stage, which are those of all. The layers of a microbatch
// are repeated ga times, possibly with others before and after all of them. A stage receives pp_comm bytes from the stage before
// it for the forward pass of each microbatch, and from the one after it for the backward pass. The file does not say
// where microbatches begin: they are found by the names of the layers.

// batches are the layers of the microbatches.
type batches struct {
	first, size, count int // layer, layers of each
}

// microbatches finds the microbatches: as many layers as possible, ga times with the same names. If there are none, it adds
// a fault and returns nil.
func (s *simai) microbatches() *batches {
	effort := maxNames
	for size := len(s.layers) / s.ga; size > 0 && effort > 0; size-- {
		effort -= len(s.layers)
		same := 0 // layers up to this one that have the name of the one a microbatch later
		for i := range s.layers[:len(s.layers)-size+1] {
			if same == size*(s.ga-1) {
				return &batches{i - same, size, s.ga}
			}
			if i+size < len(s.layers) && s.layers[i].name == s.layers[i+size].name {
				same++
			} else {
				same = 0
			}
		}
	}
	s.fault(s.file, 1, "ga: %d microbatches, but no layers are repeated %[1]d times by name, so that it is unknown when the %d stages exchange data", s.ga, s.pp)
	return nil
}

// maxNames bounds the names that are compared in search of microbatches.
const maxNames = 1 << 28

// begins returns the microbatch whose first layer is that, and whether it is one.
func (b *batches) begins(layer int) (batch int, ok bool) {
	batch = (layer - b.first) / b.size
	return batch, layer >= b.first && batch < b.count && (layer-b.first)%b.size == 0
}

// ends returns the microbatch whose last layer is that, and whether it is one.
func (b *batches) ends(layer int) (batch int, ok bool) {
	batch, ok = b.begins(layer + 1 - b.size)
	return batch, ok
}

// enter adds what a stage receives before a layer, and leave what it sends after a layer.
func (p *simaiProgram) enter(layer int, forward bool) {
	if p.batches == nil {
		return
	}
	batch, ok := p.batches.ends(layer)
	label, from := "b", 1
	if forward {
		batch, ok = p.batches.begins(layer)
		label, from = "a", -1
	}
	if !ok {
		return
	}
	for rank := range p.hosts {
		if peer := rank + from*p.ranks/p.pp; peer >= 0 && peer < p.ranks {
			p.step(rank, step{label: fmt.Sprintf("%s%d", label, batch), text: fmt.Sprintf("receive from h%d", peer)})
		}
	}
}

func (p *simaiProgram) leave(layer int, forward bool) {
	if p.batches == nil {
		return
	}
	_, ok := p.batches.begins(layer)
	to := -1
	if forward {
		_, ok = p.batches.ends(layer)
		to = 1
	}
	if !ok {
		return
	}
	for rank := range p.hosts {
		if peer := rank + to*p.ranks/p.pp; peer >= 0 && peer < p.ranks {
			before := p.last[rank]
			p.step(rank, step{text: fmt.Sprintf("send %dB to h%d", p.message, peer)})
			p.last[rank] = before
			p.bytes += float64(p.message)
		}
	}
}

package runner

import (
	"sync"
	"sync/atomic"
)

// message is an envelope from a peer.
type message struct {
	peer int
	data []byte
}

// inbox passes messages from the bus's goroutine to the loop, in batches.
type inbox struct {
	wake    chan struct{} // holds a token while messages may wait
	mu      sync.Mutex
	waiting []message
	strays  atomic.Int64 // messages to this group that come from none of its peers
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds a message and wakes the loop.
func (b *inbox) put(m message) {
	b.mu.Lock()
	first := len(b.waiting) == 0
	b.waiting = append(b.waiting, m)
	b.mu.Unlock()
	if first {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// take returns all waiting messages. empty becomes the buffer for the next ones.
func (b *inbox) take(empty []message) (taken []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken, b.waiting = b.waiting, empty
	return taken
}

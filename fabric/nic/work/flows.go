package work

import "github.com/rackfab/rackfab/fabric/splitmix"

// Flows holds the flow queues, each with the commands of one flow, in order. A
// flow is assigned the queue at its hash, or the next free one, and keeps it
// until it is released.
type Flows struct {
	queues []flowQueue
}

// flowQueue is a queue and the flow that owns it, -1 if it is free.
type flowQueue struct {
	Queue[Command]
	owner int32
}

// NewFlows returns the given number of flow queues, each with room for depth
// commands.
func NewFlows(queues, depth int) Flows {
	f := Flows{queues: make([]flowQueue, queues)}
	for i := range f.queues {
		f.queues[i] = flowQueue{NewQueue[Command](depth), -1}
	}
	return f
}

// Assign assigns a free queue to a flow without one. It returns false if all
// queues are taken.
func (f *Flows) Assign(flow int32, hash uint64) (queue int, ok bool) {
	n := uint64(len(f.queues))
	for i := range n {
		if q := (hash + i) % n; f.queues[q].owner < 0 {
			f.queues[q].owner = flow
			return int(q), true
		}
	}
	return 0, false
}

// Release frees the queue, which must be empty.
func (f *Flows) Release(queue int) { f.queues[queue].owner = -1 }

// Queue returns the command queue with that index.
func (f *Flows) Queue(queue int) *Queue[Command] { return &f.queues[queue].Queue }

// Hash returns the hash by which a flow is assigned to a flow queue.
func Hash(flow uint64) uint64 { return splitmix.Mix(flow) }

package command

import "github.com/rackfab/rackfab/fabric/splitmix"

// Flows is the flow queues: each holds the commands of one flow, in order. A flow
// gets the queue that its hash points at, or the next free one, and keeps it until
// it is released.
type Flows struct {
	queues []flowQueue
}

// flowQueue is a queue and the flow that owns it, -1 if it is free.
type flowQueue struct {
	Queue[Command]
	owner int32
}

// NewFlows makes so many flow queues of so many commands each.
func NewFlows(queues, depth int) Flows {
	f := Flows{queues: make([]flowQueue, queues)}
	for i := range f.queues {
		f.queues[i] = flowQueue{NewQueue[Command](depth), -1}
	}
	return f
}

// Assign gives a flow that has no queue a free one. It is false if all are taken.
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

// Release frees the queue, which is empty.
func (f *Flows) Release(queue int) { f.queues[queue].owner = -1 }

// Queue gives the commands of a queue.
func (f *Flows) Queue(queue int) *Queue[Command] { return &f.queues[queue].Queue }

// Hash spreads a flow's number over the flow queues.
func Hash(flow uint64) uint64 { return splitmix.Mix(flow) }

package work

import "github.com/rackfab/rackfab/fabric/splitmix"

// flows holds the flow queues, each with the commands of one flow, in order. A flow takes the
// queue at its hash, or the next free one, when its first command arrives, and keeps it until
// it is released.
type flows struct {
	queues []flowQueue
	of     []flow
}

// flowQueue is a queue, and whether a flow has taken it.
type flowQueue struct {
	Queue[Command]
	taken bool
}

// flow is a flow of commands: a connection.
type flow struct {
	class  int // index of its command queue
	hash   uint64
	queue  *flowQueue // nil if the flow has none
	failed bool
}

// newFlows returns the given number of flow queues, each with room for depth commands.
func newFlows(queues, depth int) flows {
	f := flows{queues: make([]flowQueue, queues)}
	for i := range f.queues {
		f.queues[i].Queue = NewQueue[Command](depth)
	}
	return f
}

// add adds a flow whose commands arrive in the command queue of a class, and returns its index.
// Its ID selects its flow queue.
func (f *flows) add(class int, id uint64) int32 {
	f.of = append(f.of, flow{class: class, hash: splitmix.Mix(id)})
	return int32(len(f.of) - 1)
}

// free returns a queue for a flow without one, nil if all queues are taken.
func (f *flows) free(hash uint64) *flowQueue {
	n := uint64(len(f.queues))
	for i := range n {
		if q := &f.queues[(hash+i)%n]; !q.taken {
			return q
		}
	}
	return nil
}

// put appends a command to the queue of its flow. It returns false if there is no room.
func (f *flows) put(c *Command) bool {
	k := &f.of[c.Flow]
	if k.queue == nil {
		if k.queue = f.free(k.hash); k.queue == nil {
			return false
		}
		k.queue.taken = true
	}
	return k.queue.Put(*c)
}

// len returns the number of commands in the queue of a flow.
func (f *flows) len(flow int32) int {
	if q := f.of[flow].queue; q != nil {
		return q.Len()
	}
	return 0
}

// release frees the queue of a flow, which must be empty. It reports whether there was one.
func (f *flows) release(flow int32) bool {
	k := &f.of[flow]
	if k.queue == nil {
		return false
	}
	k.queue.taken, k.queue = false, nil
	return true
}

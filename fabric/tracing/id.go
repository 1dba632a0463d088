package tracing

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/splitmix"
)

// TraceID returns the trace ID of a message: a fixed hash of the scenario's seed and
// the message that its frames carry. It is never zero, and the same in equal runs.
func TraceID(seed, message uint64) (id [16]byte) {
	hi := splitmix.Mix(seed ^ splitmix.Mix(fabric.MessageOf(message)))
	binary.BigEndian.PutUint64(id[:8], hi)
	binary.BigEndian.PutUint64(id[8:], splitmix.Mix(hi)|1)
	return id
}

// RootID returns the ID of a trace's root span. Any other span can compute it as its
// parent.
func RootID(trace [16]byte) [8]byte { return spanID(trace, 0, uint64(Root), 0) }

// SpanID returns the ID of a span, from its trace, node, part, direction and start.
func SpanID(trace [16]byte, s *Span) [8]byte {
	if s.Part == Root {
		return RootID(trace)
	}
	node := fnv.New64a()
	_, _ = node.Write([]byte(s.Node)) // never fails
	kind := uint64(s.Part) | uint64(groupOf(s.Role))<<8 | uint64(s.To+1)<<32
	if s.Back {
		kind |= 1 << 16
	}
	return spanID(trace, node.Sum64(), kind, uint64(s.Start))
}

func spanID(trace [16]byte, node, kind, index uint64) (id [8]byte) {
	h := splitmix.Mix(binary.BigEndian.Uint64(trace[:8]) ^ splitmix.Mix(node^splitmix.Mix(kind^splitmix.Mix(index))))
	binary.BigEndian.PutUint64(id[:], h|1)
	return id
}

// PerFlow is the number of messages that each flow can have: those of the next flow follow.
const PerFlow = 1 << 32

// FlowOf returns the flow of a message, or fabric.NoFlow for message 0.
func FlowOf(message uint64) fabric.FlowID {
	return fabric.FlowID(fabric.MessageOf(message)/PerFlow) - 1
}

// NumberOf returns the number of a message in its flow, or the ID of a command.
func NumberOf(message uint64) uint32 { return uint32(message) }

package imports

import (
	"fmt"
	"strings"

	operation "github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// collective is an entry of collectives.
type collective struct {
	name, kind string
	ranks      []int  // host i is h<i>
	size       int64  // in bytes, 0 for a barrier
	after      string // label of steps that its ranks wait for, "" for none
	rails      int    // GPUs of a server, each with a NIC of its own; 0 leaves that to the rack
}

// spec returns the collective with the default algorithm of its kind.
func (c *collective) spec() operation.Spec {
	kind := operation.Kind(c.kind)
	return operation.Spec{
		Kind: kind, Algorithm: operation.Algorithms(kind)[0], Ranks: len(c.ranks), Size: unit.Bytes(c.size),
		Channels: 1, Chunks: 1,
	}
}

// byRail returns the number of collectives with a ring per rail.
func byRail(list []*collective) (n int) {
	for _, c := range list {
		if c.rails > 1 && c.spec().Algorithm == operation.Ring {
			n++
		}
	}
	return n
}

// manyMessages is the number of messages of all collectives from which rings are not repeated for more channels.
const manyMessages = topology.MaxCollectiveMessages / operation.MaxChannels

// channelsOf returns the most channels with which collectives do not have too many messages, 1 or more.
func channelsOf(list []*collective) int {
	messages := 0
	for _, c := range list {
		spec := c.spec()
		spec.Chunks = spec.LeastChunks()
		messages += spec.Messages()
	}
	return min(max(1, manyMessages/max(messages, 1)), operation.MaxChannels)
}

// refused returns why a scenario with these collectives would be refused, "" if it would not.
func refused(list []*collective) string {
	messages := 0
	for _, c := range list {
		spec := c.spec()
		spec.Chunks = spec.LeastChunks()
		if fault := spec.Validate(); fault != nil {
			return fmt.Sprintf("%s of %s among %d ranks: %s", spec.Kind, spec.Size, spec.Ranks, fault.Text)
		}
		messages += spec.Messages()
	}
	switch {
	case len(list) > topology.MaxCollectives:
		return fmt.Sprintf("%d collectives, want at most %d", len(list), topology.MaxCollectives)
	case messages > topology.MaxCollectiveMessages:
		return fmt.Sprintf("%d collectives have %d messages, want at most %d", len(list), messages, topology.MaxCollectiveMessages)
	}
	return ""
}

// appendCollectives appends collectives to a scenario.
func appendCollectives(b []byte, list []*collective) []byte {
	if len(list) > 0 {
		b = append(b, "collectives:\n"...)
	}
	most := channelsOf(list)
	for _, c := range list {
		b = fmt.Appendf(b, "  - {name: %s, kind: %s, ranks: [%s]", c.name, c.kind, strings.Join(ranges("h", c.ranks), ", "))
		if c.size > 0 {
			b = fmt.Appendf(b, ", size: %dB", c.size)
		}
		spec := c.spec()
		if n := spec.LeastChunks(); n > 1 {
			b = fmt.Appendf(b, ", chunks: %d", n)
		}
		if c.rails > 1 && spec.Algorithm == operation.Ring {
			b = fmt.Appendf(b, ", rails: %d", c.rails)
		}
		if spec.Algorithm == operation.Ring && (c.rails > most || c.rails == 0 && most == 1) {
			b = fmt.Appendf(b, ", channels: %d", most)
		}
		if c.after != "" {
			b = fmt.Appendf(b, ", after: [%s]", c.after)
		}
		b = append(b, "}\n"...)
	}
	return b
}

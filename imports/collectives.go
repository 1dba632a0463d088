package imports

import (
	"fmt"
	"strings"
)

// collective is an entry of collectives.
type collective struct {
	name, kind string
	ranks      []int  // host i is h<i>
	size       int64  // in bytes, 0 for a barrier
	after      string // label of steps that its ranks wait for, "" for none
}

// appendCollectives appends collectives to a scenario.
func appendCollectives(b []byte, list []*collective) []byte {
	if len(list) > 0 {
		b = append(b, "collectives:\n"...)
	}
	for _, c := range list {
		b = fmt.Appendf(b, "  - {name: %s, kind: %s, ranks: [%s]", c.name, c.kind, strings.Join(ranges("h", c.ranks), ", "))
		if c.size > 0 {
			b = fmt.Appendf(b, ", size: %dB", c.size)
		}
		if c.after != "" {
			b = fmt.Appendf(b, ", after: [%s]", c.after)
		}
		b = append(b, "}\n"...)
	}
	return b
}

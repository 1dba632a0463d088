package imports

import (
	"maps"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// split adds a switch between each host with several links and these links, because a NIC has one link. The delays of all
// paths remain, unless they are below 4 ns: that of the host's new link is taken from the others. hosts names them in the note.
func (h *hpcc) split(file, hosts string) {
	count, shortest := make([]int, len(h.kind)), make([]unit.Time, len(h.kind))
	for _, l := range h.links {
		for _, n := range l.ends {
			if count[n]++; count[n] == 1 || l.delay < shortest[n] {
				shortest[n] = l.delay
			}
			h.rate[n] = max(h.rate[n], l.rate)
		}
	}
	cut := func(n int) unit.Time { // from the links of a host: no more than half, between two such hosts
		return shortest[n] / 4 / unit.Nanosecond * unit.Nanosecond
	}
	h.own = map[int]int{}
	of := map[int]int{} // the switch of a host
	for n, kind := range h.kind {
		if kind == topology.NIC && count[n] > 1 {
			of[n], h.own[len(h.kind)] = len(h.kind), n
			h.kind = append(h.kind, topology.Switch)
		}
	}
	for i := range h.links {
		l := &h.links[i]
		for end, n := range l.ends {
			if own, ok := of[n]; ok {
				l.ends[end] = own
				l.delay -= cut(n)
			}
		}
	}
	if down := h.config.down; down != nil {
		for end, n := range down.ends {
			if own, ok := of[n]; ok {
				down.ends[end] = own
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		h.links = append(h.links, hpccLink{ends: [2]int{n, of[n]}, rate: h.rate[n], delay: max(cut(n), unit.Nanosecond)})
	}
	if len(of) > 0 {
		h.note("%s: %d %s have several links: each has one, with the highest rate, to a switch g of its own, which has these links", file, len(of), hosts)
	}
}

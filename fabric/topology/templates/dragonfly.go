package templates

import "cmp"

// mostLinks bounds the links of a dragonfly before they are made.
const mostLinks = 1 << 18

// dragonfly returns groups of routers (Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly
// topology", ISCA'08, §3): each router has hosts, a link to every other router of its group, and global
// links to routers of other groups. Consecutive hosts are below one router, and consecutive routers
// in one group.
//
// The global links are in the palmtree arrangement (Camarero, Vallejo and Beivide, ACM TACO 2014): the
// ports of a group to others are numbered over its routers, and port d-1 of group i leads to group i-d, for d
// from 1 on. With fewer groups than ports this is repeated, so that each two groups have equally many links. Ports
// that are left have no link.
func (s *Spec) dragonfly() (*Rack, []Fault) {
	ports := s.Routers * s.GlobalLinks
	groups := cmp.Or(s.Groups, ports+1)
	if groups > ports+1 {
		return nil, fault("groups", "%d of them need %d links each, and %d routers with %d global links have %d: want at most %d",
			groups, groups-1, s.Routers, s.GlobalLinks, ports, ports+1)
	}
	routers := Span{"router", 0, groups * s.Routers}
	hosts := Span{"h", 0, routers.Count * s.Hosts}
	if links := hosts.Count + routers.Count*(s.Routers-1)/2 + groups*(groups-1)/2*(ports/(groups-1)); links > mostLinks {
		return nil, fault("groups", "%d of them, with %d routers each, have %d links, want at most %d", groups, s.Routers, links, mostLinks)
	}
	r := &Rack{hosts, []Span{routers}, []Wire{{From: hosts, To: routers, Parts: routers.Count}}}
	for group := range groups {
		for i := group * s.Routers; i < (group+1)*s.Routers-1; i++ {
			others := Span{routers.Prefix, i + 1, (group+1)*s.Routers - i - 1}
			r.Wires = append(r.Wires, Wire{From: routers.at(i, routers.Count), To: others, Parts: 1, Tier: Uplink})
		}
	}
	for i := range groups {
		for d := 1; d <= i; d++ { // groups i and i-d
			r.Wires = append(r.Wires, s.globalWires(routers, groups, i, d)...)
		}
	}
	return r, nil
}

// globalWires returns the links between the groups i and i-d, those of the same two routers as one wire.
func (s *Spec) globalWires(routers Span, groups, i, d int) (wires []Wire) {
	router := func(group, port int) Span { return routers.at(group*s.Routers+port/s.GlobalLinks, routers.Count) }
	for copies := range s.Routers * s.GlobalLinks / (groups - 1) {
		first := copies * (groups - 1)
		from, to := router(i, first+d-1), router(i-d, first+groups-d-1)
		if n := len(wires); n > 0 && wires[n-1].From == from && wires[n-1].To == to {
			wires[n-1].Parallel++
			continue
		}
		wires = append(wires, Wire{From: from, To: to, Parts: 1, Parallel: 1, Tier: GlobalLink})
	}
	return wires
}

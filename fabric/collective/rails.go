package collective

import "slices"

// Place is where the NIC of a rank is: the number of its server, and of its rail, which links NICs of all servers.
type Place struct{ Server, Rail int }

// RailsOf returns the Rails of ranks at these places: the ranks of each server if they are consecutive, as many in each
// and on the same rails in the same order; otherwise 1, and 1 if all are in one server.
func RailsOf(places []Place) int {
	rails := 1
	for rails < len(places) && places[rails].Server == places[0].Server {
		rails++
	}
	if len(places)%rails != 0 || len(places) == rails {
		return 1
	}
	seen := map[int]bool{}
	for first := 0; first < len(places); first += rails {
		server := places[first].Server
		if seen[server] {
			return 1
		}
		seen[server] = true
		for i := range rails {
			if places[first+i] != (Place{server, places[i].Rail}) {
				return 1
			}
		}
	}
	return rails
}

// ring is the order of the ranks of a channel, and the place of each rank in it.
type ring struct{ order, place []int }

// railRings returns the rings of the channels, as many as there are rails, after which they repeat. A ring visits all
// ranks of a server before it leaves it, and each of its hops between servers is on one rail. The hops of all rings
// from a server are on different rails. So are NCCL's: it alternates the ends of a ring within servers to stay on one
// rail (connect.cc, ncclTopoPostset: "Alternate rings to avoid crossing rails").
func (c *Spec) railRings() []ring {
	if c.Rails < 2 || c.Algorithm != Ring {
		return nil
	}
	rings := make([]ring, c.Rails)
	for channel := range rings {
		r := ring{place: make([]int, c.Ranks)}
		for server := range c.Ranks / c.Rails {
			enter, leave := c.ends(channel, server)
			for _, rail := range between(enter, leave, c.Rails) {
				r.order = append(r.order, server*c.Rails+rail)
			}
		}
		for place, rank := range r.order {
			r.place[rank] = place
		}
		rings[channel] = r
	}
	return rings
}

// ends returns the two rails by which the ring of a channel enters and leaves a server.
func (c *Spec) ends(channel, server int) (enter, leave int) {
	servers := c.Ranks / c.Rails
	rail := func(from int) int { // of the hop from a server
		hop := (from + servers) % servers
		shift := hop % 2
		if hop == servers-1 && servers%2 != 0 { // neither that of the hop before it nor that of the one after it
			shift = 2
		}
		return (channel + shift) % c.Rails
	}
	enter, leave = rail(server-1), rail(server)
	if enter == leave { // 2 rails and an odd number of servers: one hop changes the rail
		enter = (enter + 1) % c.Rails
	}
	return enter, leave
}

// between returns all rails: the first one, those after it in turn, and the last one.
func between(first, last, rails int) []int {
	list := []int{first}
	for i := 1; i < rails; i++ {
		if rail := (first + i) % rails; rail != last {
			list = append(list, rail)
		}
	}
	return slices.Concat(list, []int{last})
}

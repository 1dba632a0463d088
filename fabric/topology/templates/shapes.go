package templates

import (
	"cmp"
	"math"
)

// star returns hosts h around the switch s0.
func (s *Spec) star() (*Rack, []Fault) {
	hosts, hub := Span{"h", 0, s.Hosts}, Span{"s", 0, 1}
	return &Rack{hosts, []Span{hub}, []Wire{{From: hosts, To: hub, Parts: 1}}}, nil
}

// leafSpine returns hosts h below leaves, each of which is linked to every spine. Consecutive hosts
// are below one leaf.
func (s *Spec) leafSpine() (*Rack, []Fault) {
	spines, faults := s.spinesFor(s.Hosts, "leaf")
	hosts, leaves, top := Span{"h", 0, s.Leaves * s.Hosts}, Span{"leaf", 0, s.Leaves}, Span{"spine", 0, spines}
	return &Rack{hosts, []Span{leaves, top}, []Wire{
		{From: hosts, To: leaves, Parts: s.Leaves},
		{From: leaves, To: top, Parts: 1, Parallel: s.Parallel, Tier: Uplink},
	}}, faults
}

// spinesFor returns the number of spines above switches with that many ports to hosts.
func (s *Spec) spinesFor(ports int, below string) (int, []Fault) {
	switch {
	case s.Spines > 0 && s.Oversubscription > 0:
		return 1, fault("oversubscription", "cannot be combined with spines")
	case s.Spines > 0:
		return s.Spines, nil
	case s.Spines == NoSpines:
		return 1, fault("spines", "none leaves %d leaves without a path to each other: want a number", s.Leaves)
	}
	share := cmp.Or(s.Oversubscription, 1)
	n := float64(ports) * float64(s.Rate) / (share * float64(s.Parallel) * float64(s.UplinkRate))
	if spines := math.Round(n); spines >= 1 && spines <= 1<<20 && math.Abs(n-spines) < 1e-6*n {
		return int(spines), nil
	}
	return 1, fault("oversubscription", "%v needs %.4g spines above each %s with %d hosts at %s, %d links of %s to each spine: want a whole number from 1 on, or give spines",
		share, n, below, ports, s.Rate, s.Parallel, s.UplinkRate)
}

// fatTree returns a fat tree of switches with k ports (Al-Fares, Loukissas, Vahdat, SIGCOMM'08):
// k pods of k/2 edge and k/2 aggregation switches and (k/2)² core switches, or, with two tiers,
// k edge and k/2 core switches. Switch i of each pod's aggregation switches is linked to the i-th
// k/2 core switches. More than k/2 hosts per edge switch need more ports there, and so do parallel
// links.
func (s *Spec) fatTree() (*Rack, []Fault) {
	if s.K%2 != 0 {
		return nil, fault("k", "%d is odd: half of the ports of a switch lead up, want an even number", s.K)
	}
	half := s.K / 2
	below, faults := s.belowEdge(half)
	pods := s.K
	edges := Span{"edge", 0, pods * half}
	if s.Tiers == 2 {
		edges.Count = s.K
	}
	hosts := Span{"h", 0, edges.Count * below}
	down := Wire{From: hosts, To: edges, Parts: edges.Count}
	if s.Tiers == 2 {
		cores := Span{"core", 0, half}
		return &Rack{hosts, []Span{edges, cores}, []Wire{down, {From: edges, To: cores, Parts: 1, Parallel: s.Parallel, Tier: Uplink}}}, faults
	}
	aggs, cores := Span{"agg", 0, edges.Count}, Span{"core", 0, half * half}
	return &Rack{hosts, []Span{edges, aggs, cores}, []Wire{
		down,
		{From: edges, To: aggs, Parts: pods, Parallel: s.Parallel, Tier: Uplink},
		{From: aggs, To: cores, Parts: half, Interleave: true, Parallel: s.Parallel, Tier: Uplink},
	}}, faults
}

// belowEdge returns the number of hosts below each edge switch of a fat tree, whose half of the
// ports lead up.
func (s *Spec) belowEdge(half int) (int, []Fault) {
	switch {
	case s.Hosts > 0 && s.Oversubscription > 0:
		return 1, fault("oversubscription", "cannot be combined with hosts")
	case s.Hosts > 0:
		return s.Hosts, nil
	case s.Oversubscription == 0:
		return half, nil
	}
	n := s.Oversubscription * float64(half*s.Parallel) * float64(s.UplinkRate) / float64(s.Rate)
	if hosts := math.Round(n); hosts >= 1 && hosts <= 1<<20 && math.Abs(n-hosts) < 1e-6*n {
		return int(hosts), nil
	}
	return 1, fault("oversubscription", "%v needs %.4g hosts at %s below each edge switch with %d links of %s up: want a whole number from 1 on, or give hosts",
		s.Oversubscription, n, s.Rate, half*s.Parallel, s.UplinkRate)
}

// rail returns servers with several NICs: NIC i of each server of a pod is linked to rail switch i
// of the pod, and every rail switch to every spine. The NICs of a server have consecutive
// numbers, and so have the servers of a pod.
//
// A host has one link. With LocalSwitch, that of host h<n> leads to a switch of its own, gpu<n>, which
// forwards to the rail switch and to the switch local<m> of its server m.
func (s *Spec) rail() (*Rack, []Fault) {
	servers := s.Pods * s.Servers
	hosts, rails := Span{"h", 0, servers * s.NICs}, Span{"rail", 0, s.Pods * s.NICs}
	r := &Rack{Hosts: hosts}
	nics := hosts
	if s.LocalSwitch {
		nics = Span{"gpu", 0, hosts.Count}
		local := Span{"local", 0, servers}
		r.Switches = append(r.Switches, nics, local)
		r.Wires = append(r.Wires,
			Wire{From: hosts, To: nics, Parts: hosts.Count, Tier: LocalLink},
			Wire{From: nics, To: local, Parts: servers, Tier: LocalLink})
	}
	r.Switches = append(r.Switches, rails)
	for pod := range s.Pods {
		r.Wires = append(r.Wires, Wire{From: nics.at(pod, s.Pods), To: rails.at(pod, s.Pods), Parts: s.NICs, Interleave: true})
	}
	if s.Spines == NoSpines {
		return r, s.withoutSpines()
	}
	n, faults := s.spinesFor(s.Servers, "rail switch")
	spines := Span{"spine", 0, n}
	r.Switches = append(r.Switches, spines)
	r.Wires = append(r.Wires, Wire{From: rails, To: spines, Parts: 1, Parallel: s.Parallel, Tier: Uplink})
	return r, faults
}

// withoutSpines checks that rails are connected without a spine: by the servers of one pod.
func (s *Spec) withoutSpines() []Fault {
	switch {
	case s.Oversubscription > 0:
		return fault("oversubscription", "has no meaning without spines")
	case s.Pods > 1:
		return fault("spines", "none leaves %d pods without a path to each other: want a number", s.Pods)
	case !s.LocalSwitch && s.NICs > 1:
		return fault("spines", "none leaves %d rails without a path to each other: want a number, or local_switch: true", s.NICs)
	}
	return nil
}

package scenariofile

import (
	"fmt"
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Warnings returns valid settings that are likely to be mistakes under the scenario's
// scheme. Keys are those of a Setting; there are no lines. A value at several nodes
// is reported once, for the first of them.
func Warnings(s *topology.Scenario) []Fault {
	return slices.Concat(shortTimeouts(s), shortHeadrooms(s), smallSteps(s), strayClasses(s), untimedLosses(s))
}

// untimedLosses reports a NIC without a retransmission timer if links lose frames.
func untimedLosses(s *topology.Scenario) []Fault {
	fails := func(l topology.Link) bool { return l.Loss != topology.Ways{} || l.Corrupt != topology.Ways{} }
	i := slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Kind == topology.NIC && n.NIC.Timeout == 0 })
	if i < 0 || !slices.ContainsFunc(s.Links, fails) {
		return nil
	}
	return []Fault{{Key: s.Nodes[i].Name + ".timeout", What: "is 0, but links lose or damage frames: a message whose last packet is lost never completes; want a timer"}}
}

// shortTimeouts reports retransmission timers that expire before an ACK can arrive.
func shortTimeouts(s *topology.Scenario) (list []Fault) {
	type wait struct {
		from, to int
		rtt      unit.Time
	}
	paths, longest := routes.NewPaths(s, s.PortMap()), make([]wait, len(s.Nodes))
	for _, p := range pairsInUse(s) {
		if rtt := paths.RTT(p.From, p.To); rtt > longest[p.From].rtt {
			longest[p.From] = wait{p.From, p.To, rtt}
		}
	}
	short := func(w wait) bool { return 0 < s.Nodes[w.from].NIC.Timeout && s.Nodes[w.from].NIC.Timeout < w.rtt }
	said := map[unit.Time]bool{}
	for _, w := range longest {
		timeout := s.Nodes[w.from].NIC.Timeout
		if !short(w) || said[timeout] {
			continue
		}
		said[timeout] = true
		list = append(list, Fault{Key: s.Nodes[w.from].Name + ".timeout", What: fmt.Sprintf(
			"%s is less than the base RTT of %s to %s, so packets are retransmitted before their ACK can arrive: want more than %s, or 0 for no timer",
			timeout, w.rtt, s.Nodes[w.to].Name, w.rtt)})
	}
	return list
}

// pairsInUse returns the pairs of NICs with flows or commands, without duplicates, in
// the order of their first use.
func pairsInUse(s *topology.Scenario) (pairs []topology.Pair) {
	seen := map[topology.Pair]bool{}
	add := func(p topology.Pair) {
		if !seen[p] {
			seen[p] = true
			pairs = append(pairs, p)
		}
	}
	for _, f := range s.Flows {
		add(topology.Pair{From: f.From, To: f.To})
	}
	for i := range s.Commands {
		for _, from := range s.Commands[i].From {
			for _, to := range s.Commands[i].To {
				add(topology.Pair{From: from, To: to})
			}
		}
	}
	return pairs
}

// shortHeadrooms reports headrooms that lossless traffic can overflow.
func shortHeadrooms(s *topology.Scenario) (list []Fault) {
	said := map[Fault]bool{}
	ends := s.PortMap()
	for i, n := range s.Nodes {
		if n.Kind != topology.Switch || len(ends[i]) == 0 {
			continue
		}
		most := mostDemanding(s, ends[i])
		needed := topology.NeededHeadroom(most)
		for _, class := range n.Switch.Lossless {
			key, have := "headroom", n.Switch.Profile(class).Headroom
			if n.Switch.Classes[class].Headroom != nil {
				key = join(classKey(class), key)
			}
			f := Fault{Key: key, What: fmt.Sprintf("%dB is too small for the frames that arrive after PAUSE at %s and %s, so a lossless class drops frames: want at least %dB",
				have, most.Rate, most.Delay, needed)}
			if have >= needed || said[f] {
				continue
			}
			said[f] = true
			f.Key = n.Name + "." + key
			list = append(list, f)
		}
	}
	return list
}

// mostDemanding returns the link that needs the largest headroom.
func mostDemanding(s *topology.Scenario, ends []topology.End) topology.Link {
	most := s.Links[ends[0].Link]
	for _, e := range ends[1:] {
		if l := s.Links[e.Link]; topology.NeededHeadroom(l) > topology.NeededHeadroom(most) {
			most = l
		}
	}
	return most
}

// smallSteps reports a step of TIMELY that is too small for a flow to recover from
// the minimum rate to its link's rate within the run.
func smallSteps(s *topology.Scenario) []Fault {
	section, p := "timely", s.CC.TIMELY
	switch s.Scheme {
	case "timely-rttx":
		section, p = "timely-rttx", s.CC.TIMELYRTTX
	case "timely", "timely-ecn":
	default:
		return nil
	}
	line, payload := unit.Rate(0), unit.Bytes(0)
	ends := s.PortMap()
	for i, n := range s.Nodes {
		if n.Kind == topology.NIC && len(ends[i]) > 0 && s.Links[ends[i][0].Link].Rate > line {
			line, payload = s.Links[ends[i][0].Link].Rate, n.NIC.Payload
		}
	}
	back, ok := climb(&p, line, payload)
	if !ok || back <= s.Duration {
		return nil
	}
	return []Fault{{Key: section + ".delta", What: fmt.Sprintf(
		"a step of %s is for links of 10Gbps: recovery from min_rate %s to the %s of a link takes at least %s, but the run lasts %s; want a longer run, or delta_per: 10Gbps as in the preset scaled",
		p.Delta, p.MinRate, line, back, s.Duration)}}
}

// climb returns the shortest time in which TIMELY recovers from its minimum rate to a
// link's rate. It reports false if TIMELY's step grows with the link. The rate grows
// exponentially with one step, or one hyper increase if enabled, per segment.
func climb(p *cc.TIMELYParams, line unit.Rate, payload unit.Bytes) (unit.Time, bool) {
	if p.DeltaPer > 0 || p.OncePerRTT || p.Delta == 0 || p.MinRate == 0 || p.MinRate >= line {
		return 0, false
	}
	step := float64(p.Delta)
	if p.HyperAfter > 0 {
		step *= float64(max(1, p.HyperFactor))
	}
	segment := float64(max(p.Segment, payload)) * 8
	seconds := math.Log(float64(line)/float64(p.MinRate)) * segment / step
	return unit.Time(seconds*1e3) * unit.Millisecond, true
}

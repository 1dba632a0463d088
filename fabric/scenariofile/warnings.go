package scenariofile

import (
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Warnings returns valid settings that are likely to be mistakes under the scenario's
// scheme. Keys are those of a Setting; there are no lines. A value at several nodes
// is reported once, for the first of them.
func Warnings(s *topology.Scenario) []Fault {
	var c collector
	c.shortTimeouts(s)
	c.shortHeadrooms(s)
	c.smallSteps(s)
	c.strayClasses(s)
	c.untimedLosses(s)
	c.reordered(s)
	c.sprayedFlows(s)
	c.untrimmedData(s)
	return c.list
}

// warn adds a warning about a part of the scenario, unless there is the same about
// another part.
func (c *collector) warn(part, key, format string, args ...any) {
	before := len(c.list)
	if c.fault(place{key: key}, format, args...); len(c.list) > before {
		c.list[before].Key = join(part, key)
	}
}

// untimedLosses reports a NIC without a retransmission timer if links lose frames.
func (c *collector) untimedLosses(s *topology.Scenario) {
	fails := func(l topology.Link) bool { return l.Loss != topology.Ways{} || l.Corrupt != topology.Ways{} }
	lossy := slices.ContainsFunc(s.Links, fails)
	for _, n := range s.NodesOf(topology.NIC) {
		if lossy && n.NIC.Timeout == 0 {
			c.warn(n.Name, "timeout", "is 0, but links lose or damage frames: a message whose last packet is lost never completes; want a timer")
		}
	}
}

// sprayedFlows reports NICs that spread the packets of a flow over paths although its receiver
// accepts them in order only, or although switches know flows by their UDP source port. The packets
// of commands keep one path.
func (c *collector) sprayedFlows(s *topology.Scenario) {
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	for i := range s.Flows {
		f := &s.Flows[i]
		from := &s.Nodes[f.From]
		by := from.NIC.EntropyUnder(s.Scheme)
		if by == cc.EntropyFlow {
			continue
		}
		if s.Recovers(f) == cc.RecoveryGoBackN {
			c.warn(from.Name, "entropy", "%s spreads the packets of a flow over paths, but go-back-N takes each packet out of order for a loss: want recovery selective at both ends, or entropy flow", by)
		}
		if scheme.Rewrite == cc.RewriteRTTX {
			c.warn(from.Name, "entropy", "under %s a switch knows a flow by its UDP source port, and does not count packets with another: want entropy flow", s.Scheme)
		}
	}
}

// shortTimeouts reports retransmission timers that expire before an ACK can arrive.
func (c *collector) shortTimeouts(s *topology.Scenario) {
	paths, longest, furthest := routes.NewPaths(s, s.PortMap()), make([]unit.Time, len(s.Nodes)), make([]int, len(s.Nodes))
	for _, p := range pairsInUse(s) {
		if rtt := paths.RTT(p.From, p.To); rtt > longest[p.From] {
			longest[p.From], furthest[p.From] = rtt, p.To
		}
	}
	said := map[unit.Time]bool{0: true} // 0 is no timer
	for i, n := range s.NodesOf(topology.NIC) {
		if timeout, rtt := n.NIC.Timeout, longest[i]; timeout < rtt && !said[timeout] {
			said[timeout] = true
			c.warn(n.Name, "timeout", "%s is less than the base RTT of %s to %s, so packets are retransmitted before their ACK can arrive: want more than %[2]s, or 0 for no timer",
				timeout, rtt, s.Nodes[furthest[i]].Name)
		}
	}
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
func (c *collector) shortHeadrooms(s *topology.Scenario) {
	ends := s.PortMap()
	for i, n := range s.NodesOf(topology.Switch) {
		if len(ends[i]) == 0 {
			continue
		}
		most := mostDemanding(s, ends[i])
		needed := topology.NeededHeadroom(most)
		for _, class := range n.Switch.Lossless {
			key, have := "headroom", n.Switch.Profile(class).Headroom
			if n.Switch.Classes[class].Headroom != nil {
				key = join(classKey(class), key)
			}
			if have < needed {
				c.warn(n.Name, key, "%dB is too small for the frames that arrive after PAUSE at %s and %s, so a lossless class drops frames: want at least %dB",
					have, most.Rate, most.Delay, needed)
			}
		}
	}
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
func (c *collector) smallSteps(s *topology.Scenario) {
	section, p := "timely", s.CC.TIMELY
	switch s.Scheme {
	case "timely-rttx":
		section, p = "timely-rttx", s.CC.TIMELYRTTX
	case "timely", "timely-ecn":
	default:
		return
	}
	line, payload := unit.Rate(0), unit.Bytes(0)
	ends := s.PortMap()
	for i, n := range s.NodesOf(topology.NIC) {
		if len(ends[i]) > 0 && s.Links[ends[i][0].Link].Rate > line {
			line, payload = s.Links[ends[i][0].Link].Rate, n.NIC.Payload
		}
	}
	if back, ok := climb(&p, line, payload); ok && back > s.Duration {
		c.warn(section, "delta", "a step of %s is for links of 10Gbps: recovery from min_rate %s to the %s of a link takes at least %s, but the run lasts %s; want a longer run, or delta_per: 10Gbps as in the preset scaled",
			p.Delta, p.MinRate, line, back, s.Duration)
	}
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

// strayClasses reports data classes that a switch does not mark although the scheme
// needs marks. It also reports data classes that a switch maps to another class than
// the NICs do.
func (c *collector) strayClasses(s *topology.Scenario) {
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	used := classesInUse(s)
	for i, n := range s.NodesOf(topology.Switch) {
		m := s.DSCPMapAt(i)
		for class := range fabric.Priority(fabric.Priorities) {
			dscp, _ := s.CodePoint(class) // the scenario is valid
			switch at := m[dscp]; {
			case !used[class]:
			case at != class:
				c.warn(n.Name, "dscp", "DSCP %d is in class %d here but in class %d at the NICs, which a PAUSE of class %[2]d does not pause", dscp, at, class)
			case scheme.Marking != cc.MarkNone && !n.Switch.IsLossless(class) && n.Switch.Marking[class] == "":
				c.warn(n.Name, "marking", "class %d is lossy and has no marking law, so %s gets no marks from it: want {%[1]d: %[3]s}, or none if intended",
					class, s.Scheme, scheme.Marking)
			}
		}
	}
}

// classesInUse returns the classes with data of flows or commands.
func classesInUse(s *topology.Scenario) (used [fabric.Priorities]bool) {
	for _, f := range s.Flows {
		used[f.Class] = true
	}
	for i := range s.Commands {
		used[s.Commands[i].Class] = true
	}
	return used
}

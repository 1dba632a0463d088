package rack

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Plan gives what the scenario's changes from since on mean to each node, in the
// order in which they take effect.
func Plan(s *topology.Scenario, since unit.Time) [][]fabric.Change {
	p := planner{s: s, down: map[int]bool{}, plan: make([][]fabric.Change, len(s.Nodes)), index: map[string]int{}}
	for i, n := range s.Nodes {
		p.index[n.Name] = i
	}
	for _, c := range s.Timely() {
		if c.Verb == topology.ChangeLinkDown || c.Verb == topology.ChangeLinkUp {
			p.down[s.LinkNamed(c.Link)] = c.Verb == topology.ChangeLinkDown
		}
		if c.At >= since {
			p.add(&c)
		}
	}
	return p.plan
}

// planner follows the changes in the order of time.
type planner struct {
	s     *topology.Scenario
	down  map[int]bool // links
	index map[string]int
	plan  [][]fabric.Change
}

func (p *planner) put(node int, c fabric.Change) { p.plan[node] = append(p.plan[node], c) }

// add says what one change means.
func (p *planner) add(c *topology.Change) {
	switch c.Verb {
	case topology.ChangeBurst:
		p.burst(c)
	case topology.ChangeStopFlow:
		for _, i := range p.s.FlowsNamed(c.Flow) {
			p.put(p.s.Flows[i].From, fabric.Change{At: c.At, Verb: fabric.StopFlow, Flow: fabric.FlowID(i)})
		}
	case topology.ChangeLinkDown:
		p.link(c, fabric.LinkDown)
	case topology.ChangeLinkUp:
		p.link(c, fabric.LinkUp)
	case topology.ChangeFreeze, topology.ChangeThaw:
		verb := fabric.Freeze
		if c.Verb == topology.ChangeThaw {
			verb = fabric.Thaw
		}
		for _, name := range c.Nodes {
			p.put(p.index[name], fabric.Change{At: c.At, Verb: verb})
		}
	case topology.ChangeSet:
		for _, t := range p.s.Tuning(*c) {
			p.put(t.Node, fabric.Change{At: c.At, Verb: fabric.Tune, Key: t.Key, Value: t.Value})
		}
	}
}

// burst gives each NIC its flows, and every switch all of them: the control plane
// tells the converters.
func (p *planner) burst(c *topology.Change) {
	flows := make([][]fabric.Flow, len(p.s.Nodes))
	var all []fabric.Flow
	for i := p.s.Founding(); i < len(p.s.Flows); i++ {
		f := &p.s.Flows[i]
		if p.s.Bursts[f.Burst].Name != c.Burst.Name {
			continue
		}
		one := flow(p.s, i)
		flows[f.From] = append(flows[f.From], one)
		flows[f.To] = append(flows[f.To], one)
		all = append(all, one)
	}
	for node, list := range flows {
		if p.s.Nodes[node].Kind == topology.Switch {
			list = all
		}
		if len(list) > 0 {
			p.put(node, fabric.Change{At: c.At, Verb: fabric.AddFlows, Flows: list})
		}
	}
}

// link tells the two ends, and every switch its new routes.
func (p *planner) link(c *topology.Change, verb fabric.Verb) {
	l := p.s.Links[p.s.LinkNamed(c.Link)]
	routes := topology.RoutesWithout(p.s, p.down)
	for node, n := range p.s.Nodes {
		one := fabric.Change{At: c.At, Verb: fabric.Reroute}
		switch node {
		case l.A:
			one.Verb, one.Port = verb, l.APort
		case l.B:
			one.Verb, one.Port = verb, l.BPort
		}
		if n.Kind == topology.Switch {
			one.Routes = routes[node]
		}
		if one.Verb != fabric.Reroute || one.Routes != nil {
			p.put(node, one)
		}
	}
}

// flow gives the scenario's flow with that index as a NIC takes it.
func flow(s *topology.Scenario, i int) fabric.Flow {
	f := s.Flows[i]
	return fabric.Flow{
		ID: fabric.FlowID(i), From: s.Nodes[f.From].Host, To: s.Nodes[f.To].Host,
		Size: f.Size, Start: f.Start, Initial: f.Initial, Source: f.Source,
		Baseline: !s.Nodes[f.From].NIC.CETH || !s.Nodes[f.To].NIC.CETH,
	}
}

// steered tells whether flows may come to a NIC after it is built.
func steered(s *topology.Scenario) bool { return s.Live || s.Founding() < len(s.Flows) }

// checkSteered checks what nic.New leaves alone where no flow starts yet.
func (r *Rack) checkSteered() error {
	if !steered(r.s) {
		return nil
	}
	if err := r.s.CC.Validate(r.s.Scheme); err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	return nil
}

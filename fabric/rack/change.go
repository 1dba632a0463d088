package rack

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Plan returns, for each node, the fabric changes that carry out the scenario's
// changes from since on, in the order in which they take effect.
func Plan(s *topology.Scenario, since unit.Time) [][]fabric.Change {
	p := planner{s: s, down: map[int]bool{}, plan: make([][]fabric.Change, len(s.Nodes)), index: map[string]int{}}
	for i, n := range s.Nodes {
		p.index[n.Name] = i
	}
	p.connections, p.streams = s.Connections(), map[string][]topology.Stream{}
	for _, st := range s.Streams() {
		name := s.Commands[st.Command].Name
		p.streams[name] = append(p.streams[name], st)
	}
	p.connected = make([]bool, len(p.connections))
	founded, _ := s.Founded()
	for k := range founded {
		p.connected[k] = true
	}
	p.regime = s.Regime()
	for _, c := range s.Timely() {
		if c.Verb == topology.ChangeLinkDown || c.Verb == topology.ChangeLinkUp {
			p.down[s.LinkNamed(c.Link)] = c.Verb == topology.ChangeLinkDown
		}
		law, remarked := p.follow(&c)
		switch {
		case c.At >= since:
			if remarked {
				p.mark(c.At, law)
			}
			p.add(&c)
		case c.Verb == topology.ChangePost:
			p.connect(&c)
		}
	}
	return p.plan
}

// planner walks through the changes in order of time.
type planner struct {
	s     *topology.Scenario
	down  map[int]bool // links
	index map[string]int
	plan  [][]fabric.Change
	// Connections that the scenario's commands need, and which of them exist already.
	connections []topology.Connection
	streams     map[string][]topology.Stream // by the name of the commands
	connected   []bool
	regime      *topology.Regime // nil if no change chooses a scheme
}

func (p *planner) put(node int, c fabric.Change) { p.plan[node] = append(p.plan[node], c) }

// add appends the fabric changes for one scenario change.
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
			p.put(t.Node, fabric.Change{At: c.At, Verb: fabric.Tune, Port: t.Port, Key: t.Key, Value: t.Value, Classes: t.Classes})
		}
	case topology.ChangePost:
		p.post(c)
	case topology.ChangeScheme:
		p.choose(c)
	}
}

// follow applies a change to the regime. It returns the marking law afterwards, and
// whether the change replaced the law.
func (p *planner) follow(c *topology.Change) (law cc.Marking, changed bool) {
	if p.regime == nil {
		return "", false
	}
	before := p.regime.Law
	_ = p.regime.Apply(c) // the scenario is valid
	return p.regime.Law, p.regime.Law != before
}

// mark sets the marking law at every switch, for the lossless classes without a law
// of their own in the scenario.
func (p *planner) mark(at unit.Time, law cc.Marking) {
	for node, n := range p.s.Nodes {
		one := fabric.Change{At: at, Verb: fabric.Mark, Word: string(law)}
		for _, class := range n.Switch.Lossless {
			if n.Kind == topology.Switch && n.Switch.Marking[class] == "" {
				one.Classes |= 1 << class
			}
		}
		if one.Classes != 0 {
			p.put(node, one)
		}
	}
}

// choose sends a choice of scheme to both ends of each pair.
func (p *planner) choose(c *topology.Change) {
	pairs, _ := p.s.Pairs(c.Scheme.Flows) // the scenario is valid
	byNode := make([][]fabric.Pair, len(p.s.Nodes))
	for _, pair := range pairs {
		one := fabric.Pair{From: p.s.Nodes[pair.From].Host, To: p.s.Nodes[pair.To].Host}
		byNode[pair.From] = append(byNode[pair.From], one)
		byNode[pair.To] = append(byNode[pair.To], one)
	}
	for node, list := range byNode {
		if len(list) > 0 {
			p.put(node, fabric.Change{At: c.At, Verb: fabric.Choose, Word: c.Scheme.Name, Pairs: list})
		}
	}
}

// connect returns the connections that a post is the first to need.
func (p *planner) connect(c *topology.Change) (fresh []topology.Connection) {
	for _, st := range p.streams[c.Post.Name] {
		if !p.connected[st.Connection] {
			p.connected[st.Connection] = true
			fresh = append(fresh, p.connections[st.Connection])
		}
	}
	return fresh
}

// post adds each new connection at both of its ends, and the commands at the host
// that posts them.
func (p *planner) post(c *topology.Change) {
	verb, _ := command.ParseVerb(c.Post.Verb) // the scenario is valid
	changes := make([]fabric.Change, len(p.s.Nodes))
	for _, k := range p.connect(c) {
		one := connection(p.s, &k)
		changes[k.From].Connections = append(changes[k.From].Connections, one)
		changes[k.To].Connections = append(changes[k.To].Connections, one)
	}
	for _, st := range p.streams[c.Post.Name] {
		changes[st.From].Works = append(changes[st.From].Works, fabric.Work{
			Connection: p.connections[st.Connection].ID, ID: st.First, Verb: uint8(verb),
			Size: c.Post.Size, Every: c.Post.Every, Count: c.Post.Count,
		})
	}
	for node, one := range changes {
		if len(one.Connections)+len(one.Works) > 0 {
			one.At, one.Verb = c.At, fabric.Post
			p.put(node, one)
		}
	}
}

// burst adds the flows at the NICs at their ends, and all of them at every switch:
// the converters learn the queue pairs from the control plane.
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

// link changes the state of a link at both ends, and the routes of every switch.
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

// flow converts flow i of the scenario to the form that a NIC takes.
func flow(s *topology.Scenario, i int) fabric.Flow {
	f := s.Flows[i]
	return fabric.Flow{
		ID: fabric.FlowID(i), From: s.Nodes[f.From].Host, To: s.Nodes[f.To].Host,
		Size: f.Size, Start: f.Start, Initial: f.Initial, Source: f.Source, DSCP: codePoint(s, f.Class),
		Baseline: !s.Nodes[f.From].NIC.CETH || !s.Nodes[f.To].NIC.CETH,
		Excess:   s.Nodes[f.To].NIC.HeedsExcess(),
	}
}

// codePoint returns the DSCP of frames of a class.
func codePoint(s *topology.Scenario, class fabric.Priority) uint8 {
	dscp, _ := s.CodePoint(class) // the scenario is valid
	return dscp
}

// steered reports whether flows or commands may be added to a NIC after it is built.
func steered(s *topology.Scenario) bool {
	return s.Live || s.Founding() < len(s.Flows) || s.FoundingCommands() < len(s.Commands)
}

// checkSteered validates the scheme's parameters, which nic.New skips when no flow
// starts yet.
func (r *Rack) checkSteered() error {
	if !steered(r.s) {
		return nil
	}
	if err := r.s.CC.Validate(r.s.Scheme); err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	return nil
}

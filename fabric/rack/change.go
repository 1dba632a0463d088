package rack

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Plan returns, for each of the given nodes, the changes to its machine that carry out
// the scenario's changes from since on, in the order in which they take effect. Without
// nodes, it plans for every node of the scenario.
func Plan(s *topology.Scenario, since unit.Time, nodes ...int) [][]fabric.Change {
	s = s.AsBuilt()
	all := len(nodes) == 0
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	p := planner{s: s, scheme: scheme, state: scenariofile.StateBefore(s, 0), connections: s.Connections(), streams: map[string][]topology.Stream{}}
	for _, st := range s.Streams() {
		name := s.Commands[st.Command].Name
		p.streams[name] = append(p.streams[name], st)
	}
	p.connected = make([]bool, len(p.connections))
	initial, _ := s.InitialStreams()
	for k := range initial {
		p.connected[k] = true
	}
	for i := 0; len(nodes) < len(s.Nodes) && all; i++ {
		nodes = append(nodes, i)
	}
	plan := make([][]fabric.Change, len(nodes))
	for _, c := range s.OrderedChanges() {
		p.next(c, c.At >= since)
		for i := 0; c.At >= since && i < len(nodes); i++ {
			for _, part := range p.parts(nodes[i]) {
				part.At = c.At
				plan[i] = append(plan[i], part)
			}
		}
	}
	return plan
}

// planner walks through the changes in order of time.
type planner struct {
	s      *topology.Scenario
	scheme cc.Scheme
	state  *scenariofile.State // after the present change
	// Connections that the scenario's commands need, and which of them exist already.
	connections []topology.Connection
	streams     map[string][]topology.Stream // by the name of the commands
	connected   []bool

	// The present change.
	c        *topology.Change
	remarked bool                  // it changes the marking law
	flows    []int                 // of stop_flow and burst
	fresh    []topology.Connection // connections that a post is the first to need
	pairs    []topology.Pair       // of scheme
	routes   *routes.Table         // of link_down and link_up
}

// next advances to a change. planned reports whether parts is called for the change.
func (p *planner) next(c *topology.Change, planned bool) {
	law := p.state.Law
	p.state.Apply(c)
	p.c, p.remarked, p.fresh = c, p.state.Law != law, nil
	if c.Verb == topology.ChangePost {
		for _, st := range p.streams[c.Post.Name] {
			if !p.connected[st.Connection] {
				p.connected[st.Connection] = true
				p.fresh = append(p.fresh, p.connections[st.Connection])
			}
		}
	}
	if !planned {
		return
	}
	switch c.Verb {
	case topology.ChangeBurst:
		p.flows = p.s.FlowsNamed(c.Burst.Name)
	case topology.ChangeStopFlow:
		p.flows = p.s.FlowsNamed(c.Flow)
	case topology.ChangeScheme:
		p.pairs, _ = p.s.Pairs(c.Scheme.Flows) // the scenario is valid
	case topology.ChangeLinkDown, topology.ChangeLinkUp:
		p.routes = routes.Without(p.s, p.state.Down)
	default:
	}
}

// parts returns the changes to the machine of a node that carry out the present change.
// The caller sets their instant.
func (p *planner) parts(node int) (list []fabric.Change) {
	if classes := p.remarkedClasses(node); classes != 0 {
		list = append(list, fabric.Change{Verb: fabric.Mark, Name: string(p.state.Law), Classes: classes})
	}
	part, affected := fabric.Change{}, false
	switch p.c.Verb {
	case topology.ChangeStopFlow:
		for _, i := range p.flows {
			if p.s.Flow(i).From == node {
				list = append(list, fabric.Change{Verb: fabric.StopFlow, Flow: fabric.FlowID(i)})
			}
		}
	case topology.ChangeSet:
		for _, t := range p.state.Tunings {
			if t.Node == node {
				list = append(list, t.Change)
			}
		}
	case topology.ChangeFreeze:
		part.Verb, affected = fabric.Freeze, slices.Contains(p.c.Nodes, p.s.Nodes[node].Name)
	case topology.ChangeThaw:
		part.Verb, affected = fabric.Thaw, slices.Contains(p.c.Nodes, p.s.Nodes[node].Name)
	case topology.ChangeBurst:
		part.Verb, part.Flows = fabric.AddFlows, p.burst(node)
		affected = part.Flows != nil
	case topology.ChangePost:
		part, affected = p.post(node)
	case topology.ChangeScheme:
		part.Verb, part.Name, part.Pairs = fabric.Choose, p.c.Scheme.Name, p.choice(node)
		affected = part.Pairs != nil
	case topology.ChangeLinkDown:
		part, affected = p.link(node, fabric.LinkDown)
	case topology.ChangeLinkUp:
		part, affected = p.link(node, fabric.LinkUp)
	}
	if affected {
		list = append(list, part)
	}
	return list
}

// remarkedClasses returns the classes whose marking law the present change replaces: the
// lossless ones without a law of their own in the scenario.
func (p *planner) remarkedClasses(node int) (classes uint8) {
	set := &p.s.Nodes[node].Switch
	if !p.remarked || p.s.Nodes[node].Kind != topology.Switch {
		return 0
	}
	for _, class := range set.Lossless {
		if set.Marking[class] == "" {
			classes |= 1 << class
		}
	}
	return classes
}

// burst returns the flows of a burst of which the node is one end. A switch gets all of
// them: the converters learn the queue pairs from the control plane.
func (p *planner) burst(node int) (list []fabric.Flow) {
	for _, i := range p.flows {
		f := p.s.Flow(i)
		if p.s.Nodes[node].Kind == topology.Switch || f.From == node || f.To == node {
			list = append(list, flow(p.s, i))
		}
	}
	return list
}

// choice returns the pairs of hosts that change their scheme, of which the node is one.
func (p *planner) choice(node int) (list []fabric.Pair) {
	for _, pair := range p.pairs {
		if pair.From == node || pair.To == node {
			list = append(list, fabric.Pair{From: p.s.Nodes[pair.From].Host, To: p.s.Nodes[pair.To].Host})
		}
	}
	return list
}

// post returns the new connections of which the node is one end, and the commands that
// its host posts. A switch that converts ECN into RTT gets all new connections.
func (p *planner) post(node int) (part fabric.Change, affected bool) {
	post := &p.c.Post
	verb, _ := work.ParseVerb(post.Verb) // the scenario is valid
	n := &p.s.Nodes[node]
	_, learns := rewritten(&n.Switch, p.scheme)
	learns = learns && n.Kind == topology.Switch
	for _, k := range p.fresh {
		if learns || k.From == node || k.To == node {
			part.Connections = append(part.Connections, connection(p.s, &k))
		}
	}
	for _, st := range p.streams[post.Name] {
		if st.From == node {
			part.Works = append(part.Works, fabric.Work{
				Connection: p.connections[st.Connection].ID, ID: st.First, Verb: uint8(verb),
				Size: post.Size, Every: post.Every, Count: post.Count,
			})
		}
	}
	part.Verb = fabric.Post
	return part, len(part.Connections)+len(part.Works) > 0
}

// link returns the change of a link's state at its ends, and of the routes of a switch.
func (p *planner) link(node int, verb fabric.Verb) (part fabric.Change, affected bool) {
	part.Verb = fabric.Reroute
	switch l := p.s.Links[p.s.LinkNamed(p.c.Link)]; node {
	case l.A:
		part.Verb, part.Port = verb, l.APort
	case l.B:
		part.Verb, part.Port = verb, l.BPort
	}
	if p.s.Nodes[node].Kind == topology.Switch {
		part.Routes = p.routes.By(node)
	}
	return part, part.Verb != fabric.Reroute || part.Routes != nil
}

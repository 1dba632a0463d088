package rack

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// addCommands adds to a NIC's configuration its receive buffer, and the connections,
// engine settings and posts of the scenario's commands.
func (r *Rack) addCommands(c *nic.Config, node int, link topology.Link) {
	s := r.s
	set := &s.Nodes[node].NIC.Engine
	if set.Buffers() {
		buffer, xoff, xon := set.Intake(link)
		c.Intake = rx.Config{
			Absorb: set.Absorb, Buffer: buffer, XOFF: xoff, XON: xon, Quanta: set.Quanta, Translation: set.Translation,
		}
	}
	for _, i := range r.connected[node] {
		c.Connections = append(c.Connections, connection(s, &r.connections[i]))
	}
	if len(c.Connections) == 0 && !growsLater(s) {
		return
	}
	c.Engine = engine(s, set, link)
	var classes []fabric.Priority
	for _, k := range c.Connections {
		classes = append(classes, k.Class)
	}
	if growsLater(s) {
		classes = append(classes, topology.DataClass)
		c.Engine.Largest = s.Nodes[node].NIC.Payload
	}
	for _, class := range classes {
		if !slices.ContainsFunc(c.Engine.Classes, func(one nic.ShapingClass) bool { return one.Class == class }) {
			def := topology.DefaultShaping()
			def.Class = class
			c.Engine.Classes = append(c.Engine.Classes, shapingClass(s, set, &def, link))
		}
	}
	for _, st := range r.streams[node] {
		r.addStream(c, st)
	}
}

// connection converts a connection of the scenario to the form that a NIC takes.
func connection(s *topology.Scenario, k *topology.Connection) fabric.Connection {
	from, to := &s.Nodes[k.From], &s.Nodes[k.To]
	return fabric.Connection{
		ID: k.ID, From: from.Host, To: to.Host, Class: k.Class, Source: k.Source, Datagram: k.Datagram,
		Payload: min(from.NIC.Payload, to.NIC.Payload), Baseline: s.Baseline(k.From, k.To),
	}
}

// engine returns the settings of the engine, including the classes with shares.
func engine(s *topology.Scenario, set *topology.EngineSettings, link topology.Link) nic.EngineConfig {
	e := nic.EngineConfig{
		CommandSlots: set.CommandSlots, FlowQueues: set.FlowQueues, FlowSlots: set.FlowSlots,
		Units: set.Units, ResponseUnits: set.ResponseUnits, GetLimit: set.GetLimit, PutLimit: set.PutLimit,
		SubRequest: set.SubRequest, Length: set.Length, Retries: set.Retries, Counters: s.InitialCommands(),
		Out: shaper.Limit{Rate: set.OutRate, Depth: set.OutBurst}, In: shaper.Limit{Rate: inRate(set, link), Depth: set.Burst},
		Pacing: set.Pacing, Gate: set.Gate, Policy: set.Policy,
		Outstanding: shaper.Outstanding{Bytes: set.Outstanding, PerPeriod: set.PeriodBytes, Period: set.Period},
	}
	for i := range set.Shaping {
		e.Classes = append(e.Classes, shapingClass(s, set, &set.Shaping[i], link))
	}
	return e
}

// inRate returns the rate of the responses that a NIC requests.
func inRate(set *topology.EngineSettings, link topology.Link) unit.Rate {
	switch {
	case set.Rate > 0:
		return set.Rate
	case set.Absorb > 0:
		return min(set.Absorb, link.Rate)
	}
	return link.Rate
}

// outRate returns the rate that a NIC's TX shares are percentages of.
func outRate(set *topology.EngineSettings, link topology.Link) unit.Rate {
	if set.OutRate > 0 {
		return set.OutRate
	}
	return link.Rate
}

// shapingClass returns a branch of the shaper's tree. Shares become limits of the
// branch.
func shapingClass(s *topology.Scenario, set *topology.EngineSettings, share *topology.ShapingSettings, link topology.Link) nic.ShapingClass {
	return nic.ShapingClass{
		Class: share.Class, DSCP: codePoint(s, share.Class),
		Branch: shaper.Level{
			Out: pair(outRate(set, link), share.OutShare, share.OutCeiling, set.OutBurst),
			In:  pair(inRate(set, link), share.InShare, share.InCeiling, set.Burst),
		},
		Requests:  shaper.Leaf{Priority: share.Urgency, Weight: share.Weight},
		Responses: shaper.Leaf{Priority: share.ResponseUrgency, Weight: share.ResponseWeight},
	}
}

// pair returns the assured rate of a share and the limit of a ceiling, both in
// percent of rate.
func pair(rate unit.Rate, share, ceiling int, depth unit.Bytes) (p shaper.Pair) {
	if share > 0 {
		p.Assured = shaper.Limit{Rate: rate * unit.Rate(share) / 100, Depth: depth}
	}
	if ceiling < 100 {
		p.Ceiling = shaper.Limit{Rate: rate * unit.Rate(ceiling) / 100, Depth: depth}
	}
	return p
}

// addStream adds the commands of one stream, which the NIC's host posts.
func (r *Rack) addStream(c *nic.Config, st topology.Stream) {
	cmd := &r.s.Commands[st.Command]
	if st.Connection < 0 {
		verb := work.Append
		if cmd.Verb == topology.Search {
			verb = work.Search
		}
		c.Appends = append(c.Appends, nic.TargetConfig{Target: work.Target{ID: st.First, Verb: verb}, At: cmd.At, Count: cmd.Count})
		return
	}
	verb, _ := work.ParseVerb(cmd.Verb) // the scenario is valid
	c.Posts = append(c.Posts, nic.PostConfig{
		Connection: r.connections[st.Connection].ID,
		Series: work.Series{
			Command: work.Command{
				ID: st.First, Verb: verb, Size: cmd.Size, Address: cmd.Address, Operand: cmd.Operand, Compare: cmd.Expected,
				Rank: int64(cmd.Urgency), Counter: int32(st.Command), After: trigger(r.s, cmd),
			},
			At: cmd.At, Every: cmd.Every, Count: cmd.Count, Posts: cmd.Posts,
		},
	})
}

// trigger returns the condition that a command waits for: completion of everything
// that its NIC posts under the name in After.
func trigger(s *topology.Scenario, cmd *topology.Command) work.Trigger {
	if cmd.After == "" {
		return work.Trigger{}
	}
	i := slices.IndexFunc(s.Commands, func(c topology.Command) bool { return c.Name == cmd.After })
	return work.Trigger{Counter: int32(i), Threshold: uint64(s.Commands[i].Count * len(s.Commands[i].To))}
}

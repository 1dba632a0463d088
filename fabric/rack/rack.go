// Package rack builds the machine of each node of a scenario: it converts the
// scenario's settings to the configurations of packages nic and switching. It is the
// only package that knows both.
package rack

import (
	"cmp"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Rack builds the machines of one scenario. It computes the data that several
// machines share once.
type Rack struct {
	s      *topology.Scenario
	scheme cc.Scheme
	sample fabric.Sampling
	ends   [][]topology.End
	paths  *routes.Paths
	bdp    unit.Bytes
	flows  [][]int  // indices of the flows that begin or end at a node
	number []uint32 // of each switch, by node: counted from 0; identifies the switch in telemetry and CETH

	connections []topology.Connection
	connected   [][]int             // by node: indices of the connections that begin or end there
	streams     [][]topology.Stream // by the node that they are from
}

// New prepares the rack of a scenario. It returns an error if the scheme is unknown, if it cannot number all flows
// or, where flows may be added later, if its parameters are invalid.
func New(s *topology.Scenario) (*Rack, error) {
	scheme, err := cc.Find(s.Scheme)
	if err != nil {
		return nil, err
	}
	if err := s.CheckFlows(); err != nil {
		return nil, err
	}
	s = s.AsBuilt()
	r := &Rack{s: s, scheme: scheme, ends: s.PortMap(), flows: make([][]int, len(s.Nodes)), number: make([]uint32, len(s.Nodes))}
	r.paths = routes.NewPaths(s, r.ends)
	r.bdp = r.paths.BDP()
	r.sample = fabric.Sampling{Every: s.Bin, End: s.Duration}
	next := uint32(0)
	for i := range s.NodesOf(topology.Switch) {
		r.number[i] = next
		next++
	}
	r.connect()
	for i, f := range s.Flows[:s.InitialFlows()] {
		r.flows[f.From] = append(r.flows[f.From], i)
		if f.To != f.From {
			r.flows[f.To] = append(r.flows[f.To], i)
		}
	}
	return r, r.checkParams()
}

// connect assigns the connections and streams of the scenario's commands to their nodes.
func (r *Rack) connect() {
	var streams []topology.Stream
	r.connections, streams = r.s.InitialStreams()
	r.connected, r.streams = make([][]int, len(r.s.Nodes)), make([][]topology.Stream, len(r.s.Nodes))
	for i, k := range r.connections {
		r.connected[k.From] = append(r.connected[k.From], i)
		if k.To != k.From {
			r.connected[k.To] = append(r.connected[k.To], i)
		}
	}
	for _, st := range streams {
		r.streams[st.From] = append(r.streams[st.From], st)
	}
}

// Machine builds the machine of the node with that index.
func (r *Rack) Machine(node int) (fabric.Machine, error) {
	if node < 0 || node >= len(r.s.Nodes) {
		return nil, fmt.Errorf("rack: node %d of %d", node, len(r.s.Nodes))
	}
	if r.s.Nodes[node].Kind == topology.NIC {
		return nic.New(r.nicConfig(node))
	}
	return switching.New(r.switchConfig(node))
}

// Sampling returns the sampling interval of the machines: one bin of the recorded
// series, unless Sample has set another.
func (r *Rack) Sampling() fabric.Sampling { return r.sample }

// Sample sets the sampling interval, above 0, of the machines built from now on. The
// interval does not affect the frames that they send.
func (r *Rack) Sample(every unit.Time) { r.sample.Every = every }

func (r *Rack) nicConfig(node int) nic.Config {
	s, scheme := r.s, r.scheme
	n := s.Nodes[node]
	link := s.Links[r.ends[node][0].Link]
	c := nic.Config{
		Name: n.Name, Seed: s.Seed, Delay: link.Delay, Flaws: r.flaws(node, 0),
		ControlRate: n.NIC.ControlRate, ControlQueue: n.NIC.ControlQueue,
		MTU: link.MTU, Retry: retry(&link),
		MirrorPorts: n.NIC.ACKPorts == "mirrored",
		AckWithData: n.NIC.ACKClass == "data",
		Sampling:    r.sample,
		Settings: qp.Settings{
			Host: n.Host, Rate: link.Rate, Overhead: link.Overhead,
			Payload: n.NIC.Payload, AckEvery: n.NIC.AckEvery, Timeout: n.NIC.Timeout,
			ControlDSCP: codePoint(s, n.NIC.ControlClass), DSCP: s.DSCPMap(), Clock: n.NIC.Clock,
			PaceByGap: n.NIC.Pacer == "gap",
			Entropy:   n.NIC.EntropyUnder(s.Scheme), Entropies: n.NIC.Entropies,
			Notification: scheme.Notification, Scheme: s.Scheme, Burst: s.CC.Burst(s.Scheme),
			Path: func(to int) cc.Path { return r.paths.Between(n.Host, to) },

			TrimmedLastHop: s.TrimmedLastHop(),
		},
	}
	c.CC = scheme.Complete(s.CC, func() unit.Time {
		if rtt := r.longestRTT(node); rtt > 0 || !growsLater(s) {
			return rtt
		}
		return r.paths.FurthestRTT(node)
	}, r.paths.LongestRTT())
	c.CC.Credit.Policy = n.NIC.Credit
	if scheme.Timestamps {
		c.RTT = n.NIC.RTT
	}
	if growsLater(s) {
		c.LaterRTT = n.NIC.RTT
	}
	c.Probe = n.NIC.RTTProbe
	for _, i := range r.flows[node] {
		c.Flows = append(c.Flows, flow(s, i))
	}
	if h := s.StepsOf(node); h != nil {
		c.Program = &h.Program
	}
	r.addCommands(&c, node, link)
	return c
}

// longestRTT returns the longest base RTT of the flows from a node, and of the connections of
// commands at it: both their ends send data, one of them in response to GETs. It returns 0 if the
// node has none.
func (r *Rack) longestRTT(node int) (longest unit.Time) {
	for _, i := range r.flows[node] {
		if f := &r.s.Flows[i]; f.From == node {
			longest = max(longest, r.paths.RTT(f.From, f.To))
		}
	}
	for _, i := range r.connected[node] {
		k := &r.connections[i]
		longest = max(longest, r.paths.RTT(node, k.From+k.To-node))
	}
	return longest
}

// flaws returns the error rates of the link behind a port, in the direction towards
// its node.
func (r *Rack) flaws(node int, port fabric.Port) fabric.Flaws {
	index := r.ends[node][port].Link
	l := &r.s.Links[index]
	way := topology.Forth
	if node == l.A && port == l.APort {
		way = topology.Back
	}
	return fabric.NewFlaws(r.s.Seed, index, way == topology.Back, l.Loss[way], l.Corrupt[way])
}

// retry returns the complete settings of link-layer retry of a link, nil without it.
func retry(l *topology.Link) *llr.Settings {
	if !l.Retry.On {
		return nil
	}
	s, _ := l.CompleteRetry() // the scenario is valid
	return &s
}

// indication returns how the switches write congestion into the ACKs that pass, nil
// if they do not.
func indication(s *topology.Scenario, scheme cc.Scheme) *switching.Indication {
	if scheme.Notification != cc.NotifyCETH || s.CC.CETH.Source != cc.CETHSwitch {
		return nil
	}
	return &switching.Indication{CETHParams: s.CC.CETH}
}

// switchSeed returns the seed of a switch's own random stream.
func switchSeed(s *topology.Scenario, node int) uint64 { return s.Seed + uint64(node)<<32 }

func (r *Rack) switchConfig(node int) switching.Config {
	s, scheme := r.s, r.scheme
	n := s.Nodes[node]
	set := n.Switch
	c := switching.Config{
		Indicate: indication(s, scheme),
		Name:     n.Name, MAC: frame.SwitchMAC(node), Number: r.number[node], Seed: switchSeed(s, node),
		Buffer: set.Buffer, Routes: r.paths.By(node), Balance: set.Balance, Detection: set.Detection, DSCP: s.DSCPMapAt(node), Weights: set.Weights,
		Sampling:    r.sample,
		Arbitration: switching.Arbitration(set.Arbitration),
		CNMClass:    set.QCN.CNMClass,
	}
	for port, end := range r.ends[node] {
		l, lastHop := s.Links[end.Link], s.Nodes[end.Peer].Kind == topology.NIC
		c.Ports = append(c.Ports, switching.PortConfig{
			Rate: l.Rate, Delay: l.Delay, Overhead: l.Overhead, MTU: l.MTU, Flaws: r.flaws(node, fabric.Port(port)),
			Retry: retry(&l), LastHop: lastHop, Unmarked: lastHop && !set.MarksLastHop(&scheme),
		})
	}
	for p := range c.Classes {
		c.Classes[p] = classConfig(&set, fabric.Priority(p), scheme)
		r.bound(&c.Classes[p], &set, fabric.Priority(p))
	}
	if class, ok := rewritten(&set, scheme); ok {
		c.RTTX.Params = set.RTTX
		c.RTTX.D, c.RTTX.PMax = s.Increment(set.RTTX.D, r.ends[node]), c.Classes[class].RED.Pmax
		for i := range s.Flows[:s.InitialFlows()] { // the control plane informs all switches
			c.RTTX.Flows = append(c.RTTX.Flows, flow(s, i))
		}
		for i := range r.connections {
			c.RTTX.Connections = append(c.RTTX.Connections, connection(s, &r.connections[i]))
		}
	}
	return c
}

// rewritten returns the first class in which a switch converts ECN into RTT under the rack's
// scheme, or false if there is none.
func rewritten(set *topology.SwitchSettings, scheme cc.Scheme) (fabric.Priority, bool) {
	for class := range fabric.Priority(fabric.Priorities) {
		if classConfig(set, class, scheme).Rewrite == cc.RewriteRTTX {
			return class, true
		}
	}
	return 0, false
}

// classConfig returns the configuration of a class at a switch under the rack's
// scheme.
func classConfig(set *topology.SwitchSettings, class fabric.Priority, scheme cc.Scheme) switching.ClassConfig {
	p := set.Profile(class)
	k := switching.ClassConfig{
		Reserve: p.Reserve, XOFF: p.Threshold, AlphaShift: p.AlphaShift,
		Marking: cmp.Or(set.Marking[class], cc.MarkNone), Rewrite: cmp.Or(set.Rewrite[class], cc.RewriteNone),
		Routing: p.Routing,
		RED:     switching.REDConfig{Kmin: p.Kmin, Kmax: p.Kmax, Pmax: p.Pmax},
		Step:    switching.StepConfig{K: set.Step, Per: set.StepPer},
		QCN: switching.QCNConfig{
			SetPoint: set.QCN.SetPoint, Weight: set.QCN.Weight, SampleBase: set.QCN.SampleBase, Jitter: set.QCN.Jitter,
			AtDeparture: set.QCN.Sampling == "departure",
		},
	}
	if p.Lossless {
		k.Lossless, k.XON, k.Headroom, k.Quanta = true, p.XON, p.Headroom, set.Quanta
		k.Marking, k.Rewrite = cmp.Or(set.Marking[class], scheme.Marking), cmp.Or(set.Rewrite[class], scheme.Rewrite)
	}
	return k
}

// bound completes the configuration of a class by what refers to egress queues and the BDP.
func (r *Rack) bound(k *switching.ClassConfig, set *topology.SwitchSettings, class fabric.Priority) {
	limit, lastHop, trims := set.Queue(class)
	q := &set.Queues
	if k.Marking == cc.MarkBDP {
		share := func(x float64) unit.Bytes { return topology.Extent{BDP: x}.At(r.bdp) }
		k.Marking, k.RED = cc.MarkRED, switching.REDConfig{Kmin: share(q.Kmin), Kmax: share(q.Kmax), Pmax: q.Pmax}
	}
	if k.Lossless {
		return
	}
	k.Queue = switching.QueueConfig{Limit: limit.At(r.bdp), LastHop: lastHop.At(r.bdp)}
	if trims {
		k.Queue.Trim = switching.TrimConfig{
			On: true, Size: q.TrimSize, DSCP: q.TrimDSCP, DSCPLastHop: q.TrimDSCPLastHop, Policy: switching.TrimPolicy(q.TrimPolicy),
		}
	}
}

// flow converts flow i of the scenario to the form that a NIC takes.
func flow(s *topology.Scenario, i int) fabric.Flow {
	f := s.Flow(i)
	if f.Step {
		f.Start = unit.Never
	}
	return fabric.Flow{
		ID: fabric.FlowID(i), From: s.Nodes[f.From].Host, To: s.Nodes[f.To].Host,
		Size: f.Size, Start: f.Start, Initial: f.Initial, Source: f.Source, DSCP: codePoint(s, f.Class),
		Baseline: s.Baseline(f.From, f.To),
		Excess:   s.Nodes[f.To].NIC.UsesExcess(),
		Recovery: recoveries[s.Recovers(&f)],
	}
}

// recoveries are the forms of loss recovery by their names in a scenario.
var recoveries = map[cc.Recovery]fabric.Recovery{
	cc.RecoveryGoBackN: fabric.GoBackN, cc.RecoverySelective: fabric.Selective, cc.RecoverySpraying: fabric.Spraying,
}

// codePoint returns the DSCP of frames of a class.
func codePoint(s *topology.Scenario, class fabric.Priority) uint8 {
	dscp, _ := s.CodePoint(class) // the scenario is valid
	return dscp
}

// growsLater reports whether flows or commands may be added to a NIC after it is built.
func growsLater(s *topology.Scenario) bool {
	return s.Live || s.InitialFlows() < len(s.Flows) || s.InitialCommands() < len(s.Commands)
}

// checkParams validates the scheme's parameters, which nic.New skips when no flow
// starts yet.
func (r *Rack) checkParams() error {
	if !growsLater(r.s) {
		return nil
	}
	if err := r.s.CC.Validate(r.s.Scheme); err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	return nil
}

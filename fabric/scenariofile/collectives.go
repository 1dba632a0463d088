package scenariofile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/templates"
	"github.com/rackfab/rackfab/fabric/unit"
)

// collectiveForm is one entry of collectives.
type collectiveForm struct {
	topology.Collective
	ranks []string
}

var collectives = sequence[collectiveForm]{
	key: "collectives", kind: "collective",
	blank: collectiveForm{Collective: topology.Collective{Class: topology.DataClass, Spec: collective.Spec{Chunks: 1}}},
	add:   (*builder).addCollective, forms: collectiveForms,
	fields: []field[collectiveForm]{
		fixed(required(of("name", "name of the collective", identifier, func(c *collectiveForm) *string { return &c.Name }))),
		required(of("kind", "what it achieves", oneOf(collective.Kinds()...), func(c *collectiveForm) *collective.Kind { return &c.Kind })),
		of("algorithm", "how its ranks exchange data, by default ring if the kind has it, else direct; halving-doubling needs a power of two of ranks", oneOf(algorithms()...), func(c *collectiveForm) *collective.Algorithm { return &c.Algorithm }),
		required(of("ranks", "its NICs, from rank 0 on", nodeList, func(c *collectiveForm) *[]string { return &c.ranks })),
		of("size", "data of each rank, all segments together; 0 for a barrier and for an all-to-allv", sizes.from(0, collective.MaxSize), func(c *collectiveForm) *unit.Bytes { return &c.Size }),
		of("sizes", "of an all-to-allv: a row per rank, with the bytes that it has for each rank", sizeRows, func(c *collectiveForm) *collective.Sizes { return &c.Sizes }),
		of("channels", "shares of the data, each with a ring of its own; by default as many as there are rails. Odd ones run backwards, if rails is 1", integer[int](1, collective.MaxChannels), func(c *collectiveForm) *int { return &c.Channels }),
		of("rails", "ranks of each server, consecutive ones with a NIC on a rail each, for rings that leave servers on all rails; by default the NICs of a server of template rail if the ranks are so, else 1", integer[int](1, collective.MaxRanks).omit(isZero), func(c *collectiveForm) *int { return &c.Rails }),
		of("chunks", "parts of each segment, which are sent one after the other", integer[int](1, collective.MaxChunks), func(c *collectiveForm) *int { return &c.Chunks }),
		of("at", "earliest instant at which it begins", times.from(0, longest), func(c *collectiveForm) *unit.Time { return &c.At }),
		of("after", "what each rank must have done: its part of collectives listed above, steps of its program, by label, and flows and bursts from it and to it", awaitable, func(c *collectiveForm) *[]string { return &c.After }),
		of("class", "traffic class of its messages", dataClass, func(c *collectiveForm) *fabric.Priority { return &c.Class }),
	},
}

// sizeRows is the matrix of an all-to-allv.
var sizeRows = mapped(
	list(array{want: "a row per rank, like [[0B, 2MB], [1MB, 0B]]", max: collective.MaxRanks},
		list(array{want: "a size for each rank in each row, like [[0B, 2MB], [1MB, 0B]]", max: collective.MaxRanks}, sizes.from(0, collective.MaxSize), nil), nil),
	func(rows [][]unit.Bytes) collective.Sizes { return rows },
	func(s collective.Sizes) [][]unit.Bytes { return s }).omit(func(s collective.Sizes) bool { return len(s) == 0 })

// algorithms lists the algorithms of all kinds.
func algorithms() (list []collective.Algorithm) {
	for _, kind := range collective.Kinds() {
		list = append(list, collective.Algorithms(kind)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (b *builder) addCollective(f *collectiveForm, src *source) {
	b.claim(f.Name, src)
	b.checkStart(f.At, src.of("at"))
	found, ok := b.findNICs(f.ranks, src.of("ranks"))
	if !ok || b.faulty() {
		return
	}
	f.Nodes, f.Ranks = found, len(found)
	if f.Algorithm == "" {
		f.Algorithm = collective.Algorithms(f.Kind)[0]
	}
	b.completeRings(&f.Collective)
	if fault := f.Validate(); fault != nil {
		b.fault(src.of(fault.Field), "%s", fault.Text)
	}
	b.checkCollectives(&f.Collective, src)
	b.checkClassOf(f.Class, src.of("class"), f.Nodes...)
	b.checkNames(&f.Collective, src)
	if b.faulty() {
		return
	}
	f.Tag = topology.CollectiveTag + uint32(b.messages)
	b.messages += f.Messages()
	b.s.Collectives = append(b.s.Collectives, f.Collective)
	for rank, p := range f.Expand() {
		b.addShare(rank, &p, src)
	}
}

// completeRings chooses the rails and channels that are not given: a ring per rail, or fewer if the collective is too
// small for them or has too many messages.
func (b *builder) completeRings(c *topology.Collective) {
	if c.Rails == 0 && c.Algorithm == collective.Ring {
		c.Rails = b.railsOf(c.Nodes)
	}
	if c.Rails == 1 { // as without rails
		c.Rails = 0
	}
	if c.Channels == 0 {
		c.Channels = min(max(c.Rails, 1), collective.MaxChannels)
		for c.Channels > 1 && c.Validate() != nil {
			c.Channels--
		}
	}
}

// railsOf returns the number of rails of NICs in the template rail, 1 in other racks.
func (b *builder) railsOf(nodes []int) int {
	t := &b.template
	if t.rack == nil || t.Template != templates.Rail {
		return 1
	}
	places := make([]collective.Place, len(nodes))
	for i, node := range nodes {
		host, err := strconv.Atoi(strings.TrimPrefix(b.s.Nodes[node].Name, t.rack.Hosts.Prefix))
		if err != nil || host >= t.rack.Hosts.Count {
			return 1 // a NIC that the file adds
		}
		places[i] = collective.Place{Server: host / t.NICs, Rail: host % t.NICs}
	}
	return collective.RailsOf(places)
}

// checkCollectives checks that another collective is within the limits of all together.
func (b *builder) checkCollectives(c *topology.Collective, src *source) {
	b.require(len(b.s.Collectives) < topology.MaxCollectives, src.place, "one too many, want at most %d", topology.MaxCollectives)
	if !b.faulty() {
		all := b.messages + c.Messages()
		b.require(all <= topology.MaxCollectiveMessages, src.of("ranks"), "this collective and those above have %d messages, want at most %d", all, topology.MaxCollectiveMessages)
	}
}

// checkNames checks that a rank has something to wait for by each name, and no step with the name of the
// collective.
func (b *builder) checkNames(c *topology.Collective, src *source) {
	for _, node := range c.Nodes {
		if at, ok := b.hostOf[node]; ok && b.hosts[at].has(c.Name) {
			b.fault(src.of("name"), "%s is the label of a step of %s", c.Name, b.s.Nodes[node].Name)
			break
		}
	}
	for _, name := range c.After {
		waits := func(node int) bool { return b.observes(node, name) }
		switch flows := b.flowsCalled(name); {
		case slices.ContainsFunc(c.Nodes, waits):
		case b.collectiveNamed(name) >= 0:
			b.fault(src.of("after"), "%s has none of the ranks, so that none would wait", name)
		case flows != indices{} && b.s.Flows[flows.first].Size == topology.Endless:
			b.fault(src.of("after"), "%s is endless and never complete, want flows with a size", name)
		case flows != indices{}:
			b.fault(src.of("after"), "%s neither begins nor ends at a rank, so that none would wait for it", name)
		case b.isFlow(name): // it has a fault of its own
		case name == c.Name || !b.isCollective(name): // else it has a fault of its own
			b.fault(src.of("after"), "no collective above is called %s, and no rank has a step %[1]s", name)
		}
	}
}

// collectiveNamed returns the index of a collective, -1 if there is none.
func (b *builder) collectiveNamed(name string) int {
	return slices.IndexFunc(b.s.Collectives, func(c topology.Collective) bool { return c.Name == name })
}

// isCollective reports whether a name is that of a collective, which may have a fault.
func (b *builder) isCollective(name string) bool {
	return strings.HasPrefix(b.named[name].key, "collectives[")
}

// addShare adds the part of a rank in the last collective to the steps of its NIC: a step that ends when it
// may begin, those of the collective, and one that waits for them.
func (b *builder) addShare(rank int, p *program.Program, src *source) {
	index := len(b.s.Collectives) - 1
	c := &b.s.Collectives[index]
	var earlier []program.Condition
	for _, name := range c.After { // may add steps and hosts
		earlier = append(earlier, b.await(c.Nodes[rank], name, false)...)
	}
	at := b.stepsOf(c.Nodes[rank])
	h, host := &b.s.Steps[at], &b.hosts[at]
	from := h.Len()
	if !b.checkProgram(h, host, src) {
		return
	}
	idle := program.Step{Kind: program.Calc, Peer: program.AnyHost, Processor: host.idle}
	wait := idle
	if c.At > 0 { // those that share a processor would wait for each other
		wait.Processor, wait.Amount = host.free, int64(c.At)
		host.free++
	}
	begin := program.Done(h.Add(wait))
	if len(earlier) > 0 {
		begin = program.Done(h.Add(idle, append(earlier, begin)...))
	}
	share := topology.Share{Collective: index, Rank: rank, First: h.Len()}
	last := copySteps(h, p, begin, func(s *program.Step) {
		s.Peer, s.Tag = int32(c.Nodes[s.Peer]), c.Tag+s.Tag
	})
	if len(last) == 0 { // a rank of an all-to-allv without data
		last = []program.Condition{begin}
	}
	share.End = h.Add(idle, last...)
	host.parts[c.Name] = len(h.Shares)
	h.Shares = append(h.Shares, share)
	h.Labels = append(h.Labels, make([]string, h.Len()-from)...)
	host.places = append(host.places, slices.Repeat([]place{src.place}, h.Len()-from)...)
}

// copySteps adds the steps of a collective, of which those without a condition wait for begin. It returns the
// conditions that all are done.
func copySteps(h *topology.HostSteps, p *program.Program, begin program.Condition, change func(*program.Step)) (all []program.Condition) {
	first := h.Len()
	waited := make([]bool, p.Len())
	for i := range p.Len() {
		step := *p.At(i)
		change(&step)
		var after []program.Condition
		for _, c := range p.Conditions(i) {
			waited[c.Step()] = true
			after = append(after, program.Done(first+c.Step()))
		}
		if len(after) == 0 {
			after = append(after, begin)
		}
		h.Add(step, after...)
	}
	for i, w := range waited {
		if !w {
			all = append(all, program.Done(first+i))
		}
	}
	return all
}

// checkProgram checks that a host can have another part of a collective: a processor is left, and its program
// does not take the messages of collectives.
func (b *builder) checkProgram(h *topology.HostSteps, host *hostSource, src *source) bool {
	name := b.s.Nodes[h.Node].Name
	return b.require(!host.anyTag, src.of("ranks"), "a step of %s receives messages with any tag, and would take those of the collective", name) &&
		b.require(host.free < program.MaxProcessors, src.of("ranks"), "%s has no processor left, want one below %d", name, program.MaxProcessors)
}

// collectiveForms returns the collectives as entries of a file.
func collectiveForms(s *topology.Scenario) []collectiveForm {
	forms := make([]collectiveForm, len(s.Collectives))
	for i, c := range s.Collectives {
		forms[i] = collectiveForm{Collective: c, ranks: nodeNamesOf(s, c.Nodes)}
	}
	return forms
}

package scenariofile

import (
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// longestHeaders bounds the header bytes of a packet of a command.
const longestHeaders unit.Bytes = 100

// MaxCommands bounds the commands of a scenario, so that the events of one NIC fit in
// the message that carries its result.
const MaxCommands = 500_000

// commandForm is one entry of commands.
type commandForm struct {
	topology.Command
	from, to []string
}

var commands = sequence[commandForm]{
	key: "commands", kind: "command",
	blank: commandForm{Command: topology.Command{Verb: "get", Count: 1, Class: topology.DataClass, Size: 8}},
	add:   (*builder).addCommand, forms: commandForms,
	fields: []field[commandForm]{
		fixed(required(of("name", "name of the commands", identifier, func(c *commandForm) *string { return &c.Name }))),
		of("verb", "operation: put writes, get reads, send is a message, fetch-add and compare-swap are atomics; append and search are for the NIC's own lists", oneOf(verbs...), func(c *commandForm) *string { return &c.Verb }),
		required(of("from", "NICs whose hosts post them", nodeList, func(c *commandForm) *[]string { return &c.from })),
		of("to", "target NICs; append and search have none", nodeList.omit(isEmpty), func(c *commandForm) *[]string { return &c.to }),
		uniform(of("size", "bytes of each command; an atomic has 8", commandSize, func(c *commandForm) *unit.Bytes { return &c.Size })),
		uniform(of("count", "number of commands per pair of NICs", integer[int](1, 1<<20), func(c *commandForm) *int { return &c.Count })),
		of("at", "when the first command is posted", times.from(0, longest), func(c *commandForm) *unit.Time { return &c.At }),
		uniform(of("every", "time between commands of a pair, 0 to post all at once", times.from(0, longest), func(c *commandForm) *unit.Time { return &c.Every })),
		fixed(of("posts", "commands of each pair, [time after at, size], in place of size, count and every, like [[0us, 64KB], [12us, 4KB]]", posts.omit(isEmpty), func(c *commandForm) *[]work.Post { return &c.Posts })),
		of("class", "traffic class of requests and responses", integer[fabric.Priority](0, classes), func(c *commandForm) *fabric.Priority { return &c.Class }),
		of("transport", transportDoc, transport, func(c *commandForm) *bool { return &c.Datagram }),
		of("address", "address in the target's memory; a multiple of 8 for an atomic", integer[uint64](0, 1<<40), func(c *commandForm) *uint64 { return &c.Address }),
		of("operand", "value that an atomic adds or swaps in", integer[uint64](0, 1<<64-1), func(c *commandForm) *uint64 { return &c.Operand }),
		of("expected", "expected value of compare-swap", integer[uint64](0, 1<<64-1), func(c *commandForm) *uint64 { return &c.Expected }),
		of("urgency", "priority in arbitration; higher values go first", integer[int](0, 7), func(c *commandForm) *int { return &c.Urgency }),
		of("after", "commands listed above that must complete first at the same NIC", identifier.omit(isZero), func(c *commandForm) *string { return &c.After }),
	},
}

// commandSize is the size of a command.
var commandSize = sizes.from(1, work.MaxMessage)

// uniform is a field of commands that are alike, whose key is not written for others.
func uniform(f field[commandForm]) field[commandForm] {
	write := f.write
	f.write = func(c *commandForm) *yaml.Node {
		if len(c.Posts) > 0 {
			return nil
		}
		return write(c)
	}
	return f
}

// posts is a list of commands, each with its instant and its size.
var posts = list(array{want: "a list of commands, like [[0us, 64KB], [12us, 4KB]]", min: 1, max: MaxCommands}, codec[work.Post]{
	schema: schema{"type": "array", "minItems": 2, "maxItems": 2, "items": false, "prefixItems": []schema{postTime.schema, commandSize.schema}},
	read: func(n *yaml.Node) (p work.Post, err error) {
		if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
			return p, errors.New("want a time and a size, like [12us, 4KB]")
		}
		var wrong error
		p.After, err = postTime.read(n.Content[0])
		p.Size, wrong = commandSize.read(n.Content[1])
		return p, errors.Join(err, wrong)
	},
	write: func(p work.Post) *yaml.Node {
		n := flow(yaml.SequenceNode)
		n.Content = []*yaml.Node{postTime.write(p.After), commandSize.write(p.Size)}
		return n
	},
}, nil)

// postTime is the instant of a command, counted from that of its entry.
var postTime = times.from(0, longest)

const transportDoc = "rc, reliable, or ud: each send is one unreliable datagram of at most the payload of both NICs"

// transport is the transport of commands: whether they use datagrams.
var transport = mapped(oneOf("rc", "ud"), func(name string) bool { return name == "ud" }, func(datagram bool) string {
	if datagram {
		return "ud"
	}
	return "rc"
}).omit(isZero)

// verbs lists the verbs of commands.
var verbs = append(slices.Clone(work.Verbs()), topology.Append, topology.Search)

func (b *builder) addCommand(f *commandForm, src *source) {
	b.claim(f.Name, src)
	b.checkStart(f.At, src.of("at"))
	var okFrom, okTo bool
	f.From, okFrom = b.findNICs(f.from, src.of("from"))
	f.To, okTo = b.findNICs(f.to, src.of("to"))
	if !okFrom || !okTo {
		return
	}
	b.checkPosts(f, src)
	b.checkCommand(f, src)
	if len(f.To) == 0 {
		f.To = nil
	}
	if b.require(b.countCommands()+f.Total() <= MaxCommands, src.of("count"), "creates more than %d commands in all", MaxCommands) {
		b.s.Commands, b.commands = append(b.s.Commands, f.Command), append(b.commands, src)
	}
}

// checkCommand checks one entry of commands by itself.
func (b *builder) checkCommand(f *commandForm, src *source) {
	verb, known := work.ParseVerb(f.Verb)
	switch {
	case f.OfTarget() && len(f.To) > 0:
		b.fault(src.of("to"), "%s is for the NIC's own lists and takes no to", f.Verb)
	case !f.OfTarget() && len(f.To) == 0:
		b.fault(src.of("to"), "is missing: target NICs")
	case known && verb.Atomic() && f.Size != work.AtomicSize && len(f.Posts) == 0:
		b.fault(src.of("size"), "an atomic has %s", work.AtomicSize)
	case known && verb.Atomic() && f.Address%8 != 0:
		b.fault(src.of("address"), "%d is not a multiple of 8", f.Address)
	case known && !verb.Atomic() && !src.has("size") && !src.has("posts"):
		b.fault(src.of("size"), "is missing: bytes of each %s", f.Verb)
	}
	b.checkClassOf(f.Class, src.of("class"), slices.Concat(f.From, f.To)...)
	b.checkSelf(f.From, f.To, src)
	b.checkDatagrams(&f.Command, src)
	if f.After != "" {
		b.checkAfter(f, src)
	}
}

// checkPosts checks the list of commands of an entry, and derives their number and largest size.
func (b *builder) checkPosts(f *commandForm, src *source) {
	if len(f.Posts) == 0 {
		return
	}
	at := src.of("posts")
	for _, key := range []string{"size", "count", "every"} {
		b.require(!src.has(key), src.of(key), "cannot be combined with posts")
	}
	b.require(!f.OfTarget(), at, "%s has no posts, want count", f.Verb)
	verb, known := work.ParseVerb(f.Verb)
	f.Count, f.Size, f.Every = len(f.Posts), f.Posts[0].Size, 0
	for i, p := range f.Posts {
		f.Size = max(f.Size, p.Size)
		if i > 0 && !b.require(p.After >= f.Posts[i-1].After, at, "%s comes after %s: want ascending times", p.After, f.Posts[i-1].After) ||
			!b.require(!known || !verb.Atomic() || p.Size == work.AtomicSize, at, "an atomic has %s, not %s", work.AtomicSize, p.Size) {
			return
		}
	}
}

// checkDatagrams checks that commands over ud are sends of one packet.
func (b *builder) checkDatagrams(c *topology.Command, src *source) {
	if !c.Datagram {
		return
	}
	if c.Verb != work.Send.String() {
		b.fault(src.of("transport"), "ud carries no %s, want verb send, or transport rc", c.Verb)
		return
	}
	for _, i := range slices.Concat(c.From, c.To) {
		if n := b.s.Nodes[i]; c.Size > n.NIC.Payload {
			b.fault(src.of("size"), "%s is more than one packet of %s, whose payload is %s: a datagram is not cut", c.Size, n.Name, n.NIC.Payload)
			return
		}
	}
}

// checkAfter checks that every NIC that waits for commands also posts them.
func (b *builder) checkAfter(f *commandForm, src *source) {
	i := b.commandsNamed(f.After)
	if i < 0 || b.s.Commands[i].OfTarget() || f.OfTarget() {
		b.fault(src.of("after"), "%s does not name commands to other NICs that are listed above", f.After)
		return
	}
	posting := slices.Sorted(slices.Values(b.s.Commands[i].From))
	for _, from := range f.From {
		if _, ok := slices.BinarySearch(posting, from); !ok {
			b.fault(src.of("after"), "%s posts no %s, so it would wait forever", b.s.Nodes[from].Name, f.After)
		}
	}
}

// checkCommands checks that the buckets of each NIC let the packets of commands pass.
func (b *builder) checkCommands(ends [][]topology.End) {
	for i, n := range b.s.NodesOf(topology.NIC) {
		if len(ends[i]) == 0 {
			continue
		}
		b.checkIntake(&n.NIC.Engine, b.nodes[i], b.s.Links[ends[i][0].Link])
		if len(b.s.Commands) > 0 {
			b.checkShaper(i, b.nodes[i])
		}
	}
}

// checkIntake checks the translation and the receive buffer of a NIC behind that link.
func (b *builder) checkIntake(e *topology.EngineSettings, src *source, l topology.Link) {
	t := &e.Translation
	b.require(t.Hit <= t.Miss, src.of("atu_hit"), "%s is longer than atu_miss %s", t.Hit, t.Miss)
	if !e.Buffers() {
		return
	}
	buffer, xoff, xon := e.Intake(l)
	needed := xoff + topology.NeededHeadroom(l)
	b.require(xon > 0, src.of("rx_xon_offset"), "%s is not below rx_xoff %s, so RESUME would never be sent", e.XON, xoff)
	b.require(buffer >= needed, src.of("rx_buffer"), "%s is less than rx_xoff plus headroom: want at least %dB", buffer, needed)
}

// checkShaper checks that the buckets of a NIC let every packet of a command pass.
func (b *builder) checkShaper(i int, src *source) {
	e, payload := &b.s.Nodes[i].NIC.Engine, b.s.Nodes[i].NIC.Payload
	response := e.Response(payload)
	longest := max(payload+longestHeaders, response)
	b.require(e.Pacing != shaper.PacingBucket || e.Burst >= response, src.of("pacing_burst"),
		"%s is less than the %dB of a response, which would never be requested", e.Burst, response)
	if e.Pacing == shaper.PacingOutstanding {
		b.checkOutstanding(e, src, response)
	}
	b.require(e.OutBurst >= longest, src.of("out_burst"), "%s is less than the %dB of the longest packet or response", e.OutBurst, longest)
	b.require(e.Units+e.ResponseUnits <= shaper.MaxUnits, src.of("units"),
		"%d and %d response units, want at most %d in all", e.Units, e.ResponseUnits, shaper.MaxUnits)
}

func (b *builder) checkOutstanding(e *topology.EngineSettings, src *source, response unit.Bytes) {
	switch {
	case e.Outstanding == 0 && e.PeriodBytes == 0:
		b.fault(src.of("pacing_outstanding"), "is 0, and so is pacing_period_bytes: want a limit")
	case e.Outstanding > 0 && e.Outstanding < response:
		b.fault(src.of("pacing_outstanding"), "%s is less than the %dB of a response", e.Outstanding, response)
	case e.PeriodBytes > 0 && e.PeriodBytes < response:
		b.fault(src.of("pacing_period_bytes"), "%s is less than the %dB of a response", e.PeriodBytes, response)
	case e.PeriodBytes > 0 && e.Period == 0:
		b.fault(src.of("pacing_period"), "is missing: the period of pacing_period_bytes")
	}
}

// commandForms returns the commands as entries of a file.
func commandForms(s *topology.Scenario) []commandForm {
	forms := make([]commandForm, s.InitialCommands())
	for i, c := range s.Commands[:len(forms)] {
		forms[i] = commandForm{Command: c, from: nodeNamesOf(s, c.From), to: nodeNamesOf(s, c.To)}
	}
	return forms
}

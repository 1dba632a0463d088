package scenariofile

import (
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// linkForm is one entry of links: every name of one end is joined to every name of
// the other, or of its part of the other.
type linkForm struct {
	ends       [2][]string
	parts      int
	interleave bool
	parallel   int // 0: one link, which must be the first between its ends
	topology.Link
}

var links = sequence[linkForm]{
	key: "links", blank: linkForm{parts: 1, Link: topology.DefaultLink()}, inherit: inheritLink, add: (*builder).addLinks, forms: linkForms,
	fields: append([]field[linkForm]{
		required(of("endpoints", "the two ends; every name of the first is linked to every name of the second", endpoints, func(l *linkForm) *[2][]string { return &l.ends })),
		of("parts", "divides both ends into that many equal parts; only names of parts with the same number are linked", integer[int](1, topology.MaxNodes).omit(func(n int) bool { return n == 1 }), func(l *linkForm) *int { return &l.parts }),
		of("interleave", "with parts: deals the names of the first end to the parts in turn; otherwise a part has consecutive names", boolean.omit(isZero), func(l *linkForm) *bool { return &l.interleave }),
		of("parallel", "number of parallel links between each two names, both of switches; an entry with this key may add links to those of an earlier one", integer[int](1, maxParallel).omit(isZero), func(l *linkForm) *int { return &l.parallel }),
	},
		lift(linkSettings, func(l *linkForm) *topology.Link { return &l.Link })...),
}

// maxParallel is the largest number of links of one entry between two switches.
const maxParallel = 1024

const (
	lossDoc    = "probability that the link loses a frame, of any kind"
	corruptDoc = "probability that the link damages a frame; the receiver then drops it because of its FCS"
)

var linkSettings = append([]field[topology.Link]{
	of("rate", "link rate of both directions", rates.from(slowest, fastest), func(l *topology.Link) *unit.Rate { return &l.Rate }),
	of("delay", "propagation delay; it is the lookahead of the emulation and never 0", times.from(shortest, furthest), func(l *topology.Link) *unit.Time { return &l.Delay }),
	cite("own: 0, preamble and gap not counted, as in ns-3; 20B: IEEE 802.3; -14B: data packets with the 48B of headers of the HPCC simulator instead of 62B",
		of("overhead", "bytes per frame on the link beyond its length: preamble and gap are 20B; negative values model shorter headers than those of RoCEv2", sizes.from(leastOverhead, 1000), func(l *topology.Link) *unit.Bytes { return &l.Overhead })),
	of("mtu", "largest frame, from destination address to FCS", sizes.from(128, bigFrame), func(l *topology.Link) *unit.Bytes { return &l.MTU }),
	live(fabric.KeyLoss, of("loss", lossDoc, bothWays, func(l *topology.Link) *topology.Ways { return &l.Loss })),
	live(fabric.KeyCorrupt, of("corrupt", corruptDoc, bothWays, func(l *topology.Link) *topology.Ways { return &l.Corrupt })),
}, retryFields...)

// errorRates returns the fields of the error rates of one direction of a link.
func errorRates(way int) []field[topology.Link] {
	return []field[topology.Link]{
		live(fabric.KeyLoss, of("loss", lossDoc, number(unitInterval), func(l *topology.Link) *float64 { return &l.Loss[way] })),
		live(fabric.KeyCorrupt, of("corrupt", corruptDoc, number(unitInterval), func(l *topology.Link) *float64 { return &l.Corrupt[way] })),
	}
}

// bothWays is a probability for both directions, or a list of two.
var bothWays = func() codec[topology.Ways] {
	one := number(unitInterval)
	const two = "a list of two: from the first end to the second, and back"
	pair := list(array{want: "a number " + one.limits + ", or " + two, min: 2, max: 2}, one, nil)
	return codec[topology.Ways]{
		limits: one.limits + ", or " + two,
		schema: schema{"anyOf": []schema{one.schema, pair.schema}},
		read: func(n *yaml.Node) (topology.Ways, error) {
			if n.Kind != yaml.SequenceNode {
				v, err := one.read(n)
				return topology.Ways{v, v}, err
			}
			rates, err := pair.read(n)
			if err != nil {
				return topology.Ways{}, err
			}
			return topology.Ways(rates), nil
		},
		write: func(w topology.Ways) *yaml.Node {
			if w[topology.Forth] == w[topology.Back] {
				return one.write(w[topology.Forth])
			}
			return pair.write(w[:])
		},
	}.omit(isZero)
}()

func inheritLink(b *builder, f *linkForm, src *source) {
	f.Link = b.link.value
	maps.Copy(src.given, b.link.src.given)
}

func (b *builder) addLinks(f *linkForm, src *source) {
	for _, key := range []string{"rate", "delay"} {
		b.require(src.has(key), src.of(key), "is missing: give it here or in defaults.link")
	}
	b.noLinks = !b.join(f, src) || b.noLinks
}

// join adds the links between all names of both ends. It reports false if it stops at
// an invalid one.
func (b *builder) join(f *linkForm, src *source) bool {
	at := src.of("endpoints")
	total := len(b.s.Links) + len(f.ends[0])*len(f.ends[1])/f.parts*max(f.parallel, 1)
	if !b.require(len(f.ends[0])%f.parts == 0 && len(f.ends[1])%f.parts == 0, src.of("parts"),
		"%d does not divide both %d and %d names", f.parts, len(f.ends[0]), len(f.ends[1])) ||
		!b.require(total <= topology.MaxLinks, at, "creates %d links in all, want at most %d", total, topology.MaxLinks) {
		return false
	}
	from, okA := b.find(f.ends[0], at)
	to, okB := b.find(f.ends[1], at)
	if !okA || !okB {
		return false
	}
	share := len(to) / f.parts
	for i, a := range from {
		part := i / (len(from) / f.parts)
		if f.interleave {
			part = i % f.parts
		}
		for _, z := range to[part*share : (part+1)*share] {
			for range max(f.parallel, 1) {
				if !b.cable(a, z, f, src) {
					return false
				}
			}
		}
	}
	return len(from)*len(to) > 0
}

// cable adds one link. It reports false if the link is invalid.
func (b *builder) cable(a, z int, f *linkForm, src *source) bool {
	at, pair := src.of("endpoints"), [2]int{min(a, z), max(a, z)}
	cabled, twice := b.cabled[pair]
	switches := b.s.Nodes[a].Kind == topology.Switch && b.s.Nodes[z].Kind == topology.Switch
	if !b.require(a != z, at, "joins %s to itself", b.s.Nodes[a].Name) ||
		!b.require(switches || f.parallel < 2, src.of("parallel"), "%s and %s are not both switches: a NIC has one link", b.s.Nodes[a].Name, b.s.Nodes[z].Name) ||
		!b.require(!twice || switches && f.parallel > 0, at, "%s and %s are already linked by %s on line %d%s", b.s.Nodes[a].Name, b.s.Nodes[z].Name, cabled.key, cabled.line, hint(switches)) {
		return false
	}
	l := f.Link
	l.A, l.B, l.APort, l.BPort, l.Parallel = a, z, b.ports[a], b.ports[z], cabled.links
	if !twice {
		cabled.place = at
	}
	cabled.links++
	b.cabled[pair] = cabled
	b.ports[a]++
	b.ports[z]++
	b.s.Links, b.links = append(b.s.Links, l), append(b.links, src)
	return true
}

// cabled is where two nodes were linked first, and the number of their links.
type cabled struct {
	place
	links int
}

// hint completes the fault of a second link between two nodes.
func hint(switches bool) string {
	if switches {
		return ": want parallel: 1 here for a parallel link"
	}
	return ""
}

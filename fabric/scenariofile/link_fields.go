package scenariofile

import (
	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	lossDoc    = "probability that the link loses a frame, of any kind"
	corruptDoc = "probability that the link damages a frame; the receiver then drops it because of its FCS"
)

var linkSettings = []field[topology.Link]{
	of("rate", "link rate of both directions", rates.from(slowest, fastest), func(l *topology.Link) *unit.Rate { return &l.Rate }),
	of("delay", "propagation delay; it is the lookahead of the emulation and never 0", times.from(shortest, furthest), func(l *topology.Link) *unit.Time { return &l.Delay }),
	cite("own: 0, preamble and gap not counted, as in ns-3; 20B: IEEE 802.3; -14B: data packets with the 48B of headers of the HPCC simulator instead of 62B",
		of("overhead", "bytes per frame on the link beyond its length: preamble and gap are 20B; negative values model shorter headers than those of RoCEv2", sizes.from(leastOverhead, 1000), func(l *topology.Link) *unit.Bytes { return &l.Overhead })),
	of("mtu", "largest frame, from destination address to FCS", sizes.from(128, bigFrame), func(l *topology.Link) *unit.Bytes { return &l.MTU }),
	live(fabric.KeyLoss, of("loss", lossDoc, bothWays, func(l *topology.Link) *topology.Ways { return &l.Loss })),
	live(fabric.KeyCorrupt, of("corrupt", corruptDoc, bothWays, func(l *topology.Link) *topology.Ways { return &l.Corrupt })),
}

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

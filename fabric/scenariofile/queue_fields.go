package scenariofile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// mostBDP is the largest multiple of the BDP that a queue may have.
const mostBDP = 1000

// bdpUnit is the unit of a length as a multiple of the BDP.
const bdpUnit = "bdp"

// extent is the length of a queue: a size, or a multiple of the BDP, "1.5bdp".
var extent = func() codec[topology.Extent] {
	size := sizes.from(0, largest)
	return codec[topology.Extent]{
		limits: size.limits + fmt.Sprintf(", or up to %d%s, a multiple of the bandwidth-delay product", mostBDP, bdpUnit), unit: size.unit,
		schema: schema{"anyOf": []schema{size.schema, {"type": "string", "pattern": `^([0-9]+\.?[0-9]*|\.[0-9]+)` + bdpUnit + `$`}}},
		read: func(n *yaml.Node) (topology.Extent, error) {
			number, ok := strings.CutSuffix(n.Value, bdpUnit)
			if !isText(n) || !ok {
				v, err := size.read(n)
				if err != nil {
					err = fmt.Errorf("%w, or a multiple of the bandwidth-delay product, like 1.5%s", err, bdpUnit)
				}
				return topology.Extent{Bytes: v}, err
			}
			v, err := strconv.ParseFloat(number, 64)
			if err != nil || !(v > 0 && v <= mostBDP) {
				return topology.Extent{}, fmt.Errorf("%s is not a multiple of the bandwidth-delay product, want a number above 0 and up to %d, like 1.5%s", shown(n), mostBDP, bdpUnit)
			}
			return topology.Extent{BDP: v}, nil
		},
		write: func(e topology.Extent) *yaml.Node { return text(e.String()) },
	}
}()

var toggle = oneOf(topology.ByScheme, topology.On, topology.Off)

// defaultQueue holds the defaults, whose keys are omitted.
var defaultQueue = topology.DefaultSwitch().Queues

// boundFields are the settings of the egress queues of classes without PFC.
var boundFields = []field[topology.QueueSettings]{
	of("pfc", "priority flow control in the classes of lossless: scheme turns it off under schemes without PFC; a class without it drops, and keeps its marking law",
		toggle.omit(equals(defaultQueue.PFC)), func(q *topology.QueueSettings) *topology.Toggle { return &q.PFC }),
	of("trim", "whether classes of lossless that have no PFC trim packets instead of dropping them: scheme follows the scheme",
		toggle.omit(equals(defaultQueue.Trim)), func(q *topology.QueueSettings) *topology.Toggle { return &q.Trim }),
	of("queue_limit", "classes of lossless that have no PFC: length of an egress queue above which packets are trimmed or dropped, 0 for no limit; by default 1bdp with trimming",
		optional(extent), func(q *topology.QueueSettings) **topology.Extent { return &q.Limit }),
	of("queue_limit_lasthop", "queue_limit of ports that lead to a NIC; by default 1.5bdp with trimming, and queue_limit if that is set",
		optional(extent), func(q *topology.QueueSettings) **topology.Extent { return &q.LimitLastHop }),
	cite("uet-htsim, -trimsize", of("trim_size", "length that trimmed packets have at most, if their headers permit that",
		sizes.from(frame.MinLen, bigFrame).omit(equals(defaultQueue.TrimSize)), func(q *topology.QueueSettings) *unit.Bytes { return &q.TrimSize })),
	cite("own: UEC leaves it to the operator", of("trim_dscp", "DSCP of trimmed packets, which determines their class",
		integer[uint8](0, 63).omit(equals(defaultQueue.TrimDSCP)), func(q *topology.QueueSettings) *uint8 { return &q.TrimDSCP })),
	cite("own: UEC leaves it to the operator", of("trim_dscp_lasthop", "DSCP of packets trimmed at a port that leads to a NIC",
		integer[uint8](0, 63).omit(equals(defaultQueue.TrimDSCPLastHop)), func(q *topology.QueueSettings) *uint8 { return &q.TrimDSCPLastHop })),
	cite("UEC 1.0: arriving; htsim: uet-htsim, compositequeue.cpp", of("trim_policy", "packet to trim at a full queue: the arriving one, or that or the one queued last, with equal probability (htsim)",
		oneOf("arriving", "htsim").omit(equals(defaultQueue.TrimPolicy)), func(q *topology.QueueSettings) *string { return &q.TrimPolicy })),
	cite("UEC 1.0.3 pp. 418-419", of("bdp_kmin", "marking law bdp: queue length from which frames are marked, as a multiple of the bandwidth-delay product",
		number(upTo(mostBDP)).omit(equals(defaultQueue.Kmin)), func(q *topology.QueueSettings) *float64 { return &q.Kmin })),
	cite("UEC 1.0.3 pp. 418-419", of("bdp_kmax", "marking law bdp: queue length above which every frame is marked, as a multiple of the bandwidth-delay product",
		number(upTo(mostBDP)).omit(equals(defaultQueue.Kmax)), func(q *topology.QueueSettings) *float64 { return &q.Kmax })),
	cite("uet-htsim, compositequeue.cpp", of("bdp_pmax", "marking law bdp: marking probability at bdp_kmax",
		number(unitInterval).omit(equals(defaultQueue.Pmax)), func(q *topology.QueueSettings) *float64 { return &q.Pmax })),
}

// queueClassFields are the same settings for one class.
var queueClassFields = []field[topology.ClassSettings]{
	of("pfc", "class of lossless: priority flow control; off makes the class drop, and keeps its marking law", optional(toggle), func(c *topology.ClassSettings) **topology.Toggle { return &c.PFC }),
	of("trim", "class without PFC: trim packets instead of dropping them", optional(toggle), func(c *topology.ClassSettings) **topology.Toggle { return &c.Trim }),
	live(fabric.KeyQueueLimit, of("queue_limit", "class without PFC: length of an egress queue above which packets are trimmed or dropped, 0 for no limit",
		optional(extent), func(c *topology.ClassSettings) **topology.Extent { return &c.QueueLimit })),
	live(fabric.KeyQueueLimitLastHop, of("queue_limit_lasthop", "queue_limit of ports that lead to a NIC, 0 for that of the others",
		optional(extent), func(c *topology.ClassSettings) **topology.Extent { return &c.QueueLimitLastHop })),
}

func upTo(most float64) interval { return interval{lo: 0, hi: most} }

// completeLimit sets the value of a tuning of a queue limit in bytes.
func (st *State) completeLimit(node int, class fabric.Priority, t *Tuning) {
	own := &st.Nodes[node].Switch.Classes[class]
	limit := own.QueueLimit
	if t.Key == fabric.KeyQueueLimitLastHop {
		limit = own.QueueLimitLastHop
	}
	t.Value = int64(limit.At(st.b.bdp()))
}

// bdp returns the bandwidth-delay product of the rack.
func (b *builder) bdp() unit.Bytes { return routes.NewPaths(&b.s, b.s.PortMap()).BDP() }

// checkLimits checks the limits of the egress queues of a switch.
func (b *builder) checkLimits(s *topology.SwitchSettings, src *source, links []topology.Link) {
	q := &s.Queues
	b.require(q.Kmin <= q.Kmax, src.of("bdp_kmin"), "%v is above bdp_kmax %v", q.Kmin, q.Kmax)
	b.checkLimit(q.Limit, src.of("queue_limit"), links)
	b.checkLimit(q.LimitLastHop, src.of("queue_limit_lasthop"), links)
	for class := range fabric.Priority(fabric.Priorities) {
		own := s.Classes[class]
		b.checkLimit(own.QueueLimit, src.of(join(classKey(class), "queue_limit")), links)
		b.checkLimit(own.QueueLimitLastHop, src.of(join(classKey(class), "queue_limit_lasthop")), links)
	}
}

// checkLimit checks that a limit in bytes admits a frame of each link.
func (b *builder) checkLimit(limit *topology.Extent, at place, links []topology.Link) {
	if limit == nil || *limit == (topology.Extent{}) || limit.BDP > 0 {
		return
	}
	for _, l := range links {
		if !b.require(limit.Bytes >= l.MTU, at, "%s holds less than one frame of %dB, so no packet would be queued whole: want %[2]dB or more, or 0 for no limit", limit, l.MTU) {
			return
		}
	}
}

// checkTrims checks that only classes without PFC trim, and that trimmed packets are in another
// class without PFC. m is the class of each code point at the switch.
func (b *builder) checkTrims(s *topology.SwitchSettings, src *source, m [64]fabric.Priority) {
	scheme, err := cc.Find(b.s.Scheme)
	if err != nil {
		return // a fault already
	}
	for class := range fabric.Priority(fabric.Priorities) {
		own, at := s.Classes[class], func(key string) place { return src.of(join(classKey(class), key)) }
		b.require(own.PFC == nil || s.IsLossless(class), at("pfc"), "class %d is not in lossless, so it has no PFC: want it in lossless, or no pfc", class)
		if own.Trim != nil && *own.Trim == topology.On {
			b.require(!s.PFCStays(class), at("trim"), "class %d has pfc on, and only classes without PFC trim: want pfc off or scheme, or trim off", class)
		}
		if !s.Trims(class, &scheme) {
			continue
		}
		for i, dscp := range []uint8{s.Queues.TrimDSCP, s.Queues.TrimDSCPLastHop} {
			key, to := []string{"trim_dscp", "trim_dscp_lasthop"}[i], m[dscp]
			b.require(to != class && !s.IsLossless(to), src.of(key),
				"DSCP %d is in class %d, want one of a class that is not in lossless and not class %d, whose packets are trimmed", dscp, to, class)
		}
	}
}

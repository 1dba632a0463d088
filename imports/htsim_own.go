package imports

import (
	"math"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// ownFatTree returns the fat tree that htsim's drivers build without a topology (fat_tree_topology.cpp, set_params):
// of switches with k ports, with k^3/4 hosts on three tiers or k^2/2 on two. It returns nil if no even k has that many.
func ownFatTree(file string, nodes int, o *HTSimOptions, to *faults) *fatTree {
	tiers := int(o.get(optTiers, 3))
	k, hosts := 0, 0
	for hosts < nodes {
		k += 2
		if hosts = k * k / 2; tiers == 3 {
			hosts = k * k * k / 4
		}
	}
	if hosts != nodes {
		return nil
	}
	t := &fatTree{faults: to, file: file, header: map[string]int64{"nodes": int64(nodes), "tiers": int64(tiers), "podsize": int64(nodes)}}
	half := int64(k / 2)
	for tier := range tiers {
		down := half
		if tier == tiers-1 {
			down = int64(k)
		}
		t.tiers[tier] = map[string]int64{
			"downlink_speed_gbps": int64(o.get(optSpeed, 100_000)) / 1000, "downlink_latency_ns": int64(math.Round(1000 * o.get(optHop, 1))),
			"switch_latency_ns": int64(math.Round(1000 * o.get(optLatency, 0))), "radix_down": down, "radix_up": half,
		}
	}
	if tiers == 3 {
		t.header["podsize"] = half * half
	}
	t.check()
	return t
}

// isSlow reports whether the driver's -failed reduces the rate of the nth link up from a switch (fat_tree_topology.cpp):
// with two tiers of those to the first aggs, with three of the first links of the first aggs.
func (t *fatTree) isSlow(tier, below, nth int) bool {
	switch {
	case tier != t.top():
		return false
	case tier == tierCore:
		nth += below * t.perPod[tierAgg]
	}
	return nth < t.failed
}

// appendLinks writes the links up from switches to others. below is the number of the switch below a core.
func (t *fatTree) appendLinks(b []byte, tier int, names string, below int, above []int) []byte {
	for _, slow := range []bool{false, true} {
		var ids []int
		for nth, id := range above {
			if t.isSlow(tier, below, nth) == slow {
				ids = append(ids, id)
			}
		}
		rate := t.rate(tier)
		if slow {
			rate /= 4 // FatTreeTopologyCfg: failed_link_ratio
		}
		if len(ids) > 0 {
			b = t.link(b, tier, names, `"`+strings.Join(ranges(treeKinds[tier], ids), ",")+`"`, rate)
		}
	}
	return b
}

// noteOptions notes the options of the driver that differ in the scenario.
func (t *fatTree) noteOptions(h *htsim, o *HTSimOptions, own bool) {
	if t.failed = int(o.get(optFailed, 0)); t.failed > 0 && t.top() == tierCore {
		h.note("-%s %d: links have a quarter of their rate in both directions, in htsim from the core down", optFailed, t.failed)
	}
	if speed := unit.Rate(o.get(optSpeed, 100_000)) * unit.MegabitPerSec; !own && speed != t.rate(tierToR) {
		h.note("hosts send at the %s of %s; htsim's UEC driver would at the %s of -%s", t.rate(tierToR), t.file, speed, optSpeed)
	}
	for _, name := range []string{optHop, optLatency, optTiers} {
		if o.has(name) && !own {
			h.note("ignored: -%s, the topology has it", name)
		}
	}
}

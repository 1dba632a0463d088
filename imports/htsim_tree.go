package imports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Tiers of a fat tree of htsim.
const (
	tierToR = iota
	tierAgg
	tierCore
)

// treeKinds are the names of switches, by tier.
var treeKinds = [...]string{"tor", "agg", "core"}

// treeKeys are the keys of a tier in lower case, with their largest values.
var treeKeys = map[string]int64{
	"downlink_speed_gbps": 10000, "radix_down": topology.MaxNodes, "radix_up": topology.MaxNodes, "queue_up": 1e12, "queue_down": 1e12,
	"oversubscribed": 1e6, "bundle": 1024, "switch_latency_ns": 5e8, "downlink_latency_ns": 4e8,
}

const (
	treeHeader = "Nodes, Tiers, Podsize"
	treeTier   = "Tier, Downlink_speed_Gbps, Radix_Up, Radix_Down, Queue_Up, Queue_Down, Oversubscribed, Bundle, Switch_Latency_ns or Downlink_Latency_ns"
)

// fatTree is what a topology of htsim says.
type fatTree struct {
	*faults
	notes  []string
	file   string
	line   int
	header map[string]int64
	tiers  [3]map[string]int64 // by lower-case key, nil without a line Tier
	in     int                 // tier that is read, -1 before the first

	pods, hostsPerPod int
	perPod            [2]int // ToRs and aggs of a pod
	cores             int
	up                [2]int // switches above a ToR and an agg
	driver            string
	failed            int // links with a quarter of their rate, see isSlow
}

// readFatTree reads a topology, and adds its faults to others. driver is that of the import, "" for the one that uses
// the queues of the file.
func readFatTree(f File, driver string, to *faults) *fatTree {
	t := &fatTree{faults: to, file: f.Name, header: map[string]int64{}, in: -1, driver: driver}
	before := len(to.list)
	for text := range bytes.Lines(f.Data) {
		t.line++
		if words := strings.Fields(string(text)); len(words) > 0 && words[0][0] != '#' {
			t.key(words)
		}
	}
	if len(to.list) == before {
		t.check()
	}
	if len(to.list) == before {
		t.noteRest()
	}
	return t
}

// key reads a line.
func (t *fatTree) key(words []string) {
	key := strings.ToLower(words[0])
	_, ofTier := treeKeys[key]
	switch {
	case len(words) != 2:
		t.fault(t.file, t.line, "%q, want a key and a number", strings.Join(words, " "))
	case key == "tier":
		n, ok := t.integer(t.file, t.line, "Tier", words[1], tierToR, tierCore)
		if ok && t.tiers[n] != nil {
			t.fault(t.file, t.line, "tier %d was given before", n)
		}
		t.in, t.tiers[n] = int(n), map[string]int64{}
	case t.in < 0 && slices.Contains(strings.Split(strings.ToLower(treeHeader), ", "), key):
		lo, hi := int64(1), int64(topology.MaxNodes-1)
		if key == "tiers" {
			lo, hi = 2, 3
		}
		t.set(t.header, key, words, lo, hi)
	case t.in < 0:
		t.fault(t.file, t.line, "%q before the first Tier, want %s", words[0], treeHeader)
	case !ofTier:
		t.fault(t.file, t.line, "%q, want %s", words[0], treeTier)
	default:
		lo := int64(1)
		if key == "switch_latency_ns" || strings.HasPrefix(key, "queue") {
			lo = 0
		}
		t.set(t.tiers[t.in], key, words, lo, treeKeys[key])
	}
}

// set reads the value of a key that may be given once.
func (t *fatTree) set(to map[string]int64, key string, words []string, lo, hi int64) {
	if _, taken := to[key]; taken {
		t.fault(t.file, t.line, "%s is given twice", words[0])
	}
	to[key], _ = t.integer(t.file, t.line, words[0], words[1], lo, hi)
}

// get returns a value of a tier, or another one if the file has none.
func (t *fatTree) get(tier int, key string, without int64) int {
	if v, ok := t.tiers[tier][key]; ok {
		return int(v)
	}
	return int(without)
}

// top returns the highest tier.
func (t *fatTree) top() int { return int(t.header["tiers"]) - 1 }

// require adds a fault at the end of the file.
func (t *fatTree) require(ok bool, format string, args ...any) bool {
	if !ok {
		t.fault(t.file, max(t.line, 1), format, args...)
	}
	return ok
}

// complete checks that all keys are there that a tree needs.
func (t *fatTree) complete() bool {
	before := len(t.list)
	for _, key := range strings.Split(treeHeader, ", ") {
		t.require(t.header[strings.ToLower(key)] > 0, "no %s", key)
	}
	for tier := range min(t.top()+1, len(t.tiers)) {
		if !t.require(t.tiers[tier] != nil, "no Tier %d", tier) {
			continue
		}
		needed := []string{"Downlink_speed_Gbps", "Downlink_Latency_ns", "Radix_Down"}
		if tier < t.top() {
			needed = append(needed, "Radix_Up")
		}
		for _, key := range needed {
			t.require(t.get(tier, strings.ToLower(key), 0) > 0, "no %s of tier %d", key, tier)
		}
	}
	return len(t.list) == before
}

// check checks that the ports of the switches fit together, and counts the switches.
func (t *fatTree) check() {
	if !t.complete() {
		return
	}
	nodes, pod, down, up := int(t.header["nodes"]), int(t.header["podsize"]), t.get(tierToR, "radix_down", 0), t.get(tierToR, "radix_up", 0)
	bundle := t.get(tierAgg, "bundle", 1)
	ok := t.require(nodes%pod == 0, "Nodes %d is not a multiple of Podsize %d", nodes, pod)
	ok = t.require(pod%down == 0, "Podsize %d is not a multiple of Radix_Down %d of tier 0", pod, down) && ok
	ok = t.require(t.top() == tierCore || pod == nodes, "Podsize %d with 2 tiers, want %d, as Nodes: all ToRs have links to all switches above", pod, nodes) && ok
	ok = t.require(t.get(tierToR, "bundle", 1) == 1, "Bundle of tier 0, want 1: a host has one link") && ok
	ok = t.require(up%bundle == 0, "Radix_Up %d of tier 0 is not a multiple of Bundle %d of tier 1", up, bundle) && ok
	if !ok {
		return
	}
	t.pods, t.hostsPerPod, t.perPod, t.up[tierToR] = nodes/pod, pod, [2]int{pod / down, up / bundle}, up/bundle
	t.require(t.get(tierAgg, "radix_down", 0) == t.perPod[tierToR]*bundle, "Radix_Down %d of tier 1, want %d: %d for each of %d ToRs",
		t.get(tierAgg, "radix_down", 0), t.perPod[tierToR]*bundle, bundle, t.perPod[tierToR])
	if t.top() == tierCore {
		t.checkCores()
	}
	switches, links := 0, nodes
	for tier := range t.top() + 1 {
		switches += t.count(tier)
		if tier < t.top() {
			links += t.count(tier) * t.get(tier, "radix_up", 0)
		}
	}
	t.require(nodes+switches <= topology.MaxNodes && links <= topology.MaxLinks, "%d nodes and %d links in all, want at most %d and %d", nodes+switches, links, topology.MaxNodes, topology.MaxLinks)
}

// checkCores checks the ports between aggs and cores, and counts the cores.
func (t *fatTree) checkCores() {
	up, bundle := t.get(tierAgg, "radix_up", 0), t.get(tierCore, "bundle", 1)
	if t.require(up%bundle == 0, "Radix_Up %d of tier 1 is not a multiple of Bundle %d of tier 2", up, bundle) {
		t.up[tierAgg] = up / bundle
		t.cores = t.perPod[tierAgg] * t.up[tierAgg]
	}
	t.require(t.get(tierCore, "radix_down", 0) == t.pods*bundle, "Radix_Down %d of tier 2, want %d: %d for each of %d pods",
		t.get(tierCore, "radix_down", 0), t.pods*bundle, bundle, t.pods)
}

// leastQueue is the least size of a queue that is imported: smaller ones have no room for a packet.
const leastQueue = 1518

// chooseDriver decides for a driver by the sizes of queues, which the UEC driver replaces by its own. It notes sizes of
// queues that decide, or that are not used.
func (t *fatTree) chooseDriver() {
	queues := false
	for _, keys := range t.tiers {
		queues = queues || keys["queue_up"] > 0 || keys["queue_down"] > 0
	}
	switch {
	case t.driver == "" && queues:
		t.driver = DriverCSG
		t.notes = append(t.notes, t.file+": the queues are those of Queue_Up and Queue_Down, as in csg-htsim: --driver csg; htsim's UEC driver replaces them by its own: --driver uec")
	case t.driver == "":
		t.driver = DriverUEC
	case t.driver == DriverUEC && queues:
		t.notes = append(t.notes, t.file+": ignored: Queue_Up and Queue_Down, which htsim's UEC driver replaces by its own")
	}
	for _, keys := range t.tiers {
		if t.driver == DriverUEC {
			delete(keys, "queue_up")
			delete(keys, "queue_down")
		}
	}
}

// dropQueues removes sizes of queues without room for a packet, and notes them.
func (t *fatTree) dropQueues() {
	for tier := range t.tiers {
		for _, key := range []string{"Queue_Up", "Queue_Down"} {
			if size := t.get(tier, strings.ToLower(key), 0); size > 0 && size < leastQueue {
				delete(t.tiers[tier], strings.ToLower(key))
				t.notes = append(t.notes, fmt.Sprintf("%s: ignored: %s %d of tier %d, htsim reads bytes and a packet has more", t.file, key, size, tier))
			}
		}
	}
}

// noteRest notes what the scenario does not say, or says otherwise.
func (t *fatTree) noteRest() {
	t.chooseDriver()
	t.dropQueues()
	for tier := range t.top() {
		if own, given := t.ratio(tier), t.tiers[tier]["oversubscribed"]; given > 0 && own != float64(given) {
			t.notes = append(t.notes, fmt.Sprintf("%s: Oversubscribed %d of tier %d: the ports and rates make it %.4g", t.file, given, tier, own))
		}
	}
	for tier := range t.tiers {
		if tier > t.top() && t.tiers[tier] != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s: ignored: tier %d of %d", t.file, tier, t.top()+1))
		}
		if latency := t.get(tier, "switch_latency_ns", 0); latency > 0 && tier <= t.top() {
			t.notes = append(t.notes, fmt.Sprintf("%s: Switch_Latency_ns %d of tier %d: half of it is added to the delay of each link of these switches", t.file, latency, tier))
		}
		if down, up := t.get(tier, "queue_down", 0), t.get(tier, "queue_up", 0); tier == tierAgg && tier < t.top() && down != up {
			t.notes = append(t.notes, fmt.Sprintf("%s: Queue_Down %d and Queue_Up %d of tier 1: queue_limit is the larger, a switch has one", t.file, down, up))
		}
	}
}

// ratio returns the rate of a switch's links downwards as a multiple of those upwards.
func (t *fatTree) ratio(tier int) float64 {
	return float64(t.get(tier, "radix_down", 0)*t.get(tier, "downlink_speed_gbps", 0)) /
		float64(t.get(tier, "radix_up", 0)*t.get(tier+1, "downlink_speed_gbps", 0))
}

// rate returns the rate of the links below a tier.
func (t *fatTree) rate(tier int) unit.Rate {
	return unit.Rate(t.get(tier, "downlink_speed_gbps", 0)) * unit.GigabitPerSec
}

// delay returns the delay of the links below a tier: a path through a switch has two of its links, and
// each has half of the switch's latency.
func (t *fatTree) delay(tier int) unit.Time {
	d := unit.Time(t.get(tier, "downlink_latency_ns", 0))*unit.Nanosecond + unit.Time(t.get(tier, "switch_latency_ns", 0))*unit.Nanosecond/2
	if tier > tierToR {
		d += unit.Time(t.get(tier-1, "switch_latency_ns", 0)) * unit.Nanosecond / 2
	}
	return d
}

// speed returns the rate of a host's link, divided by the oversubscription of the switches.
func (t *fatTree) speed() unit.Rate {
	share := 1.0
	for tier := range t.top() {
		share *= max(t.ratio(tier), 1)
	}
	return unit.Rate(float64(t.rate(tierToR)) / share)
}

package imports

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// count returns the number of switches of a tier.
func (t *fatTree) count(tier int) int {
	if tier == tierCore {
		return t.cores
	}
	return t.pods * t.perPod[tier]
}

// append writes the nodes and links. Host i is below ToR i/Radix_Down; agg i of a pod has links to the
// cores i, i+n, ... if a pod has n aggs.
func (t *fatTree) append(b []byte, hosts int) []byte {
	b = fmt.Appendf(b, "nics: {%s: }\nswitches:\n", numbered("h", 0, hosts))
	for tier := range t.top() + 1 {
		b = fmt.Appendf(b, "  %s: {%s}\n", numbered(treeKinds[tier], 0, t.count(tier)), t.settings(tier))
	}
	b = append(b, "links:\n"...)
	down := t.get(tierToR, "radix_down", 0)
	for i := range t.count(tierToR) {
		b = t.link(b, tierToR, numbered("h", i*down, down), fmt.Sprintf("tor%d", i), t.rate(tierToR))
	}
	for pod := range t.pods {
		aggs := make([]int, t.perPod[tierAgg])
		for n := range aggs {
			aggs[n] = pod*t.perPod[tierAgg] + n
		}
		b = t.appendLinks(b, tierAgg, numbered("tor", pod*t.perPod[tierToR], t.perPod[tierToR]), 0, aggs)
	}
	for i := range t.cores / max(t.up[tierAgg], 1) * t.pods {
		cores := make([]int, t.up[tierAgg])
		for n := range cores {
			cores[n] = i%t.perPod[tierAgg] + n*t.perPod[tierAgg]
		}
		b = t.appendLinks(b, tierCore, fmt.Sprintf("agg%d", i), i, cores)
	}
	return b
}

// settings returns the settings of the switches of a tier: a buffer, and the limits of its queues. Queue_Down of
// a ToR bounds the queues to the hosts.
func (t *fatTree) settings(tier int) string {
	rate, delay, ports := t.rate(tier), t.delay(tier), t.get(tier, "radix_down", 0)
	if tier < t.top() {
		rate, delay, ports = max(rate, t.rate(tier+1)), max(delay, t.delay(tier+1)), ports+t.get(tier, "radix_up", 0)
	}
	text := fmt.Sprintf("buffer: %dB", bufferOf(ports, rate, delay))
	down, up := t.get(tier, "queue_down", 0), t.get(tier, "queue_up", 0)
	switch {
	case tier == tierToR && down > 0:
		text += fmt.Sprintf(", queue_limit_lasthop: %dB", down)
	case tier > tierToR:
		up = max(up, down)
	}
	if up > 0 {
		text += fmt.Sprintf(", queue_limit: %dB", up)
	}
	return text
}

// link writes links below a tier, one or a bundle between each two names.
func (t *fatTree) link(b []byte, tier int, below, above string, rate unit.Rate) []byte {
	b = fmt.Appendf(b, "  - {endpoints: [%s, %s], rate: %s, delay: %s", below, above, rate, t.delay(tier))
	if bundle := t.get(tier, "bundle", 1); bundle > 1 {
		b = fmt.Appendf(b, ", parallel: %d", bundle)
	}
	return append(b, "}\n"...)
}

// uplink returns the name of a link from an agg upwards, counted from 0, and whether there is one.
func (t *fatTree) uplink(kind string, switchN, link int64) (name string, ok bool) {
	if kind != "AGG" || t.top() < tierCore || switchN >= int64(t.count(tierAgg)) || link >= int64(t.get(tierAgg, "radix_up", 0)) {
		return "", false
	}
	bundle := t.get(tierCore, "bundle", 1)
	core := int(switchN)%t.perPod[tierAgg] + int(link)/bundle*t.perPod[tierAgg]
	name = fmt.Sprintf("agg%d--core%d", switchN, core)
	if nth := int(link) % bundle; nth > 0 {
		name += fmt.Sprintf("#%d", nth+1)
	}
	return name, true
}

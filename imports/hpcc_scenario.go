package imports

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// name returns the name of a node.
func (h *hpcc) name(n int) string {
	prefix, number := h.numbered(n)
	return fmt.Sprintf("%s%d", prefix, number)
}

// numbered returns the two parts of the name of a node.
func (h *hpcc) numbered(n int) (prefix string, number int) {
	host, own := h.own[n]
	switch {
	case own:
		return "g", host
	case h.kind[n] == topology.Switch:
		return "s", n
	}
	return "h", n
}

// scenario writes the scenario.
func (h *hpcc) scenario(topo, flows string) []byte {
	b := fmt.Appendf(nil, "# Imported from %s and %s, files of the HPCC simulator. Time 0 is %s of %[2]s.\n",
		oneLine(topo), oneLine(flows), h.origin)
	b = append(append(b, "name: hpcc-import\nseed: 1"...), lines(h.duration())...)
	return h.appendChanges(h.appendFlows(h.appendRack(b)))
}

// appendRack writes the scheme, the nodes and the links.
func (h *hpcc) appendRack(b []byte) []byte {
	b = h.config.append(b)
	var hosts, switches []int
	for n, kind := range h.kind {
		if kind == topology.NIC {
			hosts = append(hosts, n)
		} else {
			switches = append(switches, n)
		}
	}
	b = fmt.Appendf(b, "nics:\n  %s:\n", strings.Join(ranges("h", hosts), ":\n  "))
	if len(switches) > 0 {
		b = h.appendSwitches(b, switches)
	}
	if len(h.links) > 0 {
		b = append(b, "links:\n"...)
	}
	for _, l := range h.links {
		b = fmt.Appendf(b, "  - {endpoints: [%s, %s], rate: %s, delay: %s", h.name(l.ends[0]), h.name(l.ends[1]), l.rate, l.delay)
		if loss := cmp.Or(l.loss, h.config.loss); loss > 0 {
			b = fmt.Appendf(b, ", loss: %v", loss)
		}
		if l.parallel {
			b = append(b, ", parallel: 1"...)
		}
		b = append(b, "}\n"...)
	}
	return b
}

// oneLine makes a file's name fit into a comment.
func oneLine(name string) string { return strings.Map(printable, name) }

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
		return '?'
	}
	return r
}

// appendFlows writes the flows, and those of incasts as bursts, one for all flows of the same size to
// the same host at the same instant.
func (h *hpcc) appendFlows(b []byte) []byte {
	type key struct {
		to    int
		size  unit.Bytes
		start unit.Time
		nth   int // of the flows from one sender
	}
	var order []key
	first, senders, times := map[key]int{}, map[key][]string{}, map[hpccFlow]int{}
	header := "flows:\n"
	for i, f := range h.flows {
		start := f.start - h.origin
		if h.late(f) {
			continue
		}
		if f.incast {
			k := key{f.to, f.size, start, times[f]}
			times[f]++
			if len(senders[k]) == 0 {
				order, first[k] = append(order, k), i
			}
			senders[k] = append(senders[k], h.name(f.from))
			continue
		}
		b = fmt.Appendf(b, "%s  - {name: F%d, from: h%d, to: h%d, size: %dB, start: %s}\n", header, i, f.from, f.to, int64(f.size), start)
		header = ""
	}
	header = "bursts:\n"
	for _, k := range order {
		b = fmt.Appendf(b, "%s  - {name: B%d, from: [%s], to: h%d, size: %dB, at: %s}\n", header, first[k], strings.Join(senders[k], ", "), k.to, int64(k.size), k.start)
		header = ""
	}
	return b
}

// duration returns the length of the run: until the stop time of the simulation, or twice as long
// after the last start as the busiest host's link needs for all its bytes, and 1 ms.
func (h *hpcc) duration() unit.Time {
	if end := h.config.end; end > h.origin {
		return end - h.origin
	}
	bytes := make([][2]unit.Bytes, len(h.kind))
	var last, longest unit.Time
	for _, f := range h.flows {
		last = max(last, f.start-h.origin)
		for way, n := range []int{f.from, f.to} {
			bytes[n][way] += f.size
			longest = max(longest, h.rate[n].Serialise(bytes[n][way]))
		}
	}
	return min(last+2*min(longest, topology.LongestRun)+unit.Millisecond, topology.LongestRun)
}

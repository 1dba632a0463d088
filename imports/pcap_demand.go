package imports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pcapDemand are the messages of a capture. Times count from the first one.
type pcapDemand struct {
	entries  []pcapEntry
	count    int        // of messages
	origin   unit.Time  // of the first message, from the first packet of the capture
	last     unit.Time  // of the last message
	datagram unit.Bytes // the largest one
	own      int        // messages of hosts to themselves, left out
	gaps     pcapGaps
	headless []string // queue pairs with messages without their first packet
	shared   []string // pairs of hosts with several queue pairs
}

// pcapEntry is an entry of commands: the messages of a queue pair with one verb.
type pcapEntry struct {
	name     string
	pair     *pcapPair
	verb     work.Verb
	datagram bool
	messages []pcapMessage
}

// demand returns the messages of all queue pairs.
func (p *pcap) demand() *pcapDemand {
	d, pairs := &pcapDemand{}, map[pcapKey]int{}
	for i, q := range p.pairs {
		messages := q.messages(p.mtu[[2]int{min(q.from, q.to), max(q.from, q.to)}])
		d.gaps.add(&q.gaps)
		if q.gaps.headless > 0 {
			d.headless = append(d.headless, q.String())
		}
		if q.from == q.to {
			d.own += len(messages)
			continue
		}
		if len(messages) > 0 {
			d.take(fmt.Sprintf("Q%d", i), q, messages)
			ends := pcapKey{from: q.from, to: q.to, datagram: q.datagram}
			if pairs[ends]++; pairs[ends] == 2 {
				d.shared = append(d.shared, fmt.Sprintf("h%d to h%d", q.from, q.to))
			}
		}
	}
	d.start()
	return d
}

// take adds the messages of a queue pair, those of each verb as an entry.
func (d *pcapDemand) take(name string, q *pcapPair, messages []pcapMessage) {
	first := len(d.entries)
	for _, m := range messages {
		i := first + slices.IndexFunc(d.entries[first:], func(e pcapEntry) bool { return e.verb == m.verb })
		if i < first {
			i = len(d.entries)
			d.entries = append(d.entries, pcapEntry{name: name, pair: q, verb: m.verb, datagram: q.datagram})
		}
		d.entries[i].messages = append(d.entries[i].messages, m)
		if q.datagram {
			d.datagram = max(d.datagram, unit.Bytes(m.size))
		}
	}
	if len(d.entries) > first+1 {
		for i := range d.entries[first:] {
			e := &d.entries[first+i]
			e.name += "-" + e.verb.String()
		}
	}
	d.count += len(messages)
}

// start makes times count from the first message.
func (d *pcapDemand) start() {
	for i, e := range d.entries {
		if at := e.messages[0].at; i == 0 || at < d.origin {
			d.origin = at
		}
	}
	for _, e := range d.entries {
		for i := range e.messages {
			e.messages[i].at -= d.origin
			d.last = max(d.last, e.messages[i].at)
		}
	}
}

// busiest returns the most bytes that a host sends or receives.
func (d *pcapDemand) busiest(hosts int) (most int64) {
	bytes := make([][2]int64, hosts)
	for _, e := range d.entries {
		for _, m := range e.messages {
			for way, n := range []int{e.pair.from, e.pair.to} {
				if e.verb == work.Get {
					way = 1 - way
				}
				bytes[n][way] += m.size
				most = max(most, bytes[n][way])
			}
		}
	}
	return most
}

// append writes the commands.
func (d *pcapDemand) append(b []byte) []byte {
	b = append(b, "commands:\n"...)
	for _, e := range d.entries {
		transport := ""
		if e.datagram {
			transport = ", transport: ud"
		}
		at := e.messages[0].at
		b = fmt.Appendf(b, "  - {name: %s, verb: %s, from: h%d, to: h%d%s, at: %s, posts: [", e.name, e.verb, e.pair.from, e.pair.to, transport, at)
		for i, m := range e.messages {
			switch {
			case i == 0:
			case i%8 == 0:
				b = append(b, ",\n      "...)
			default:
				b = append(b, ", "...)
			}
			b = fmt.Appendf(b, "[%s, %dB]", m.at-at, m.size)
		}
		b = append(b, "]}\n"...)
	}
	return b
}

// add adds counts.
func (g *pcapGaps) add(o *pcapGaps) {
	g.repeated += o.repeated
	g.headless += o.headless
	g.endless += o.endless
	g.missing += o.missing
	g.empty += o.empty
}

// String returns the hosts and the number of the queue pair, "h0 to h1 at 0x12".
func (k pcapKey) String() string { return fmt.Sprintf("h%d to h%d at %#x", k.from, k.to, k.qp) }

// someOf lists up to five names.
func someOf(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

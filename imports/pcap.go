package imports

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pcap is what a capture says.
type pcap struct {
	file   string
	frames int       // in the file
	first  time.Time // of the first RoCEv2 packet, the instant from which times count
	hosts  []netip.Addr
	number map[netip.Addr]int // of hosts
	pairs  []*pcapPair
	pairOf map[pcapKey]*pcapPair
	mtu    map[[2]int]int64 // payload of full packets between two hosts, the lower one first
	other  tally            // frames that carry no request
	dscp   tally            // of the requests
	over   tally            // requests over transports that a scenario does not have
	cut    bool             // the file ends within a packet
}

// pcapKey identifies the queue pair to which a host sends requests, and for datagrams also the one that
// sends them.
type pcapKey struct {
	from, to   int
	datagram   bool
	qp, source uint32
}

// PCAP returns the scenario of the requests in a capture of RoCEv2, pcap or pcapng: each queue pair becomes
// commands with the times and sizes of its messages. Hosts are called h0, h1, ... in the order in which their
// addresses appear. rack is the text of a scenario with these NICs and without commands; if it is nil, layout
// is the rack. The error names the file and, if it is not that of the whole file, the packet.
func PCAP(capture File, rack *File, layout Layout) (*Imported, error) {
	p := &pcap{file: capture.Name, number: map[netip.Addr]int{}, pairOf: map[pcapKey]*pcapPair{}, mtu: map[[2]int]int64{}}
	if err := p.read(capture.Data); err != nil {
		return nil, fmt.Errorf("%s: %w", p.file, err)
	}
	d := p.demand()
	switch {
	case d.count == 0:
		return nil, fmt.Errorf("%s: no complete RoCEv2 request between two hosts in %d frames%s", p.file, p.frames, p.reasons(d))
	case d.count > scenariofile.MaxCommands:
		return nil, fmt.Errorf("%s: %d messages, want at most %d: import a part of the capture", p.file, d.count, scenariofile.MaxCommands)
	case len(p.hosts) >= topology.MaxNodes:
		return nil, fmt.Errorf("%s: %d addresses, want fewer than %d", p.file, len(p.hosts), topology.MaxNodes)
	}
	notes := p.notes(d)
	var text []byte
	if rack == nil {
		if err := layout.holds(len(p.hosts), fmt.Sprintf("%s has %d addresses", p.file, len(p.hosts))); err != nil {
			return nil, err
		}
		text = p.scenario(d, layout)
	} else {
		s, err := rack.withHosts(len(p.hosts), func(i int) string { return fmt.Sprintf("stands for %s of %s", p.hosts[i], p.file) })
		switch {
		case err != nil:
			return nil, err
		case len(s.Commands) > 0:
			return nil, fmt.Errorf("%s: has commands already", rack.Name)
		case d.last >= s.Duration:
			notes = append(notes, fmt.Sprintf("%s: ends at %s, and the last message begins at %s: see --duration of rackfab run", rack.Name, s.Duration, d.last))
		}
		text = rack.text()
	}
	return finished(d.append(text), notes)
}

// host returns the number of the host with an address.
func (p *pcap) host(a netip.Addr) int {
	n, ok := p.number[a]
	if !ok {
		n = len(p.hosts)
		p.number[a], p.hosts = n, append(p.hosts, a)
	}
	return n
}

// pair returns the queue pair with a key.
func (p *pcap) pair(k pcapKey) *pcapPair {
	q, ok := p.pairOf[k]
	if !ok {
		q = &pcapPair{pcapKey: k}
		p.pairOf[k], p.pairs = q, append(p.pairs, q)
	}
	return q
}

// scenario writes the rack, with the capture's packet size. The run lasts twice as long after the
// last message as the busiest host's link needs for all bytes, and 1 ms.
func (p *pcap) scenario(d *pcapDemand, layout Layout) []byte {
	seconds := d.last.Seconds() + 16*float64(d.busiest(len(p.hosts)))/float64(layout.Rate) + 0.001
	longest := unit.Time(1e6*min(seconds, topology.LongestRun.Seconds())) * unit.Microsecond
	b := fmt.Appendf(nil, "# Imported from %s, a capture.\nname: pcap-import\nseed: 1", oneLine(p.file))
	b = append(b, lines(longest)...)
	if payload := p.payload(d); payload > 0 {
		b = fmt.Appendf(b, "defaults:\n  nic: {payload: %s}\n  link: {mtu: %s}\n", payload, max(topology.DataFrame(payload)+frame.HeaderRoom, topology.DefaultLink().MTU))
	}
	return layout.append(b, len(p.hosts))
}

// mostPayload bounds the payload that the import sets: twice the largest path MTU of InfiniBand, which the
// NIC's default bucket lets pass.
const mostPayload unit.Bytes = 8192

// payload returns the largest payload of the capture's packets as a setting of NICs, 0 if no message
// has more than one packet and all datagrams fit the default.
func (p *pcap) payload(d *pcapDemand) (largest unit.Bytes) {
	for _, n := range p.mtu {
		largest = max(largest, unit.Bytes(n))
	}
	if d.datagram > topology.DefaultNIC().Payload {
		largest = max(largest, d.datagram)
	}
	return min((largest+topology.PayloadWord-1)/topology.PayloadWord*topology.PayloadWord, mostPayload)
}

// tally counts by name.
type tally struct {
	names []string
	count map[string]int
}

func (t *tally) add(name string) {
	if t.count == nil {
		t.count = map[string]int{}
	}
	if t.count[name]++; t.count[name] == 1 {
		t.names = append(t.names, name)
	}
}

func (t *tally) total() (n int) {
	for _, name := range t.names {
		n += t.count[name]
	}
	return n
}

// list returns the counts after a prefix, the largest first, "" if there are none.
func (t *tally) list(prefix string) string {
	names := slices.Clone(t.names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(t.count[b], t.count[a]) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", t.count[name], name)
	}
	if len(names) == 0 {
		return ""
	}
	return prefix + strings.Join(names, ", ")
}

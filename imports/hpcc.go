package imports

import (
	"fmt"
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The formats are those that the HPCC simulator reads
// (github.com/alibaba-edu/High-Precision-Congestion-Control, simulation/scratch/third.cc). All
// are words; to the simulator ends of lines mean nothing. Its files, and those of forks, have a line for each link, flow and
// key: the number of words of a line shows which fork it is.

// Traffic of the simulator's scripts (analysis/fct_analysis.py, traffic_gen.py).
const (
	incastPort = 200 // destination port of the flows of an incast
	normalPort = 100
	dataGroup  = 3 // priority group of all flows
)

// hpcc is what the files of a simulation say.
type hpcc struct {
	faults
	notes  []string
	kind   []topology.NodeKind // by the node's number
	links  []hpccLink
	flows  []hpccFlow
	groups int // flows outside dataGroup
	ports  int // flows to a port that is neither of the two
	config hpccConfig
	rate   []unit.Rate // of the last link of each node
	origin unit.Time   // instant of the files that is 0 in the scenario

	own    map[int]int        // switches that are not in the files: the switch of a host with several links, and the host
	buffer map[int]unit.Bytes // of switches whose buffer is not the default
}

// hpccLink is a line of topology.txt.
type hpccLink struct {
	ends     [2]int
	rate     unit.Rate
	delay    unit.Time
	loss     float64
	parallel bool
}

// hpccFlow is a line of flow.txt.
type hpccFlow struct {
	from, to int
	incast   bool
	size     unit.Bytes
	start    unit.Time
}

// HPCC returns the scenario of a simulation of the HPCC simulator. config may be nil. Hosts are
// called h0, h1, ... and switches s2, s3, ... by their numbers, links keep their order, and time 0 is
// the start of the first flow. The error has a line per fault of the files.
func HPCC(topo, flows File, config *File) (*Imported, error) {
	h := &hpcc{}
	h.readTopology(wordsOf(topo, &h.faults))
	list := wordsOf(flows, &h.faults)
	list.entry("the number of flows", "1: the number of flows", 1)
	if len(h.kind) == 0 {
		return nil, h.err()
	}
	h.checkOrder()
	h.readFlows(list)
	if config != nil {
		h.readConfig(*config)
	}
	if err := h.err(); err != nil {
		return nil, err
	}
	if config != nil {
		h.endEarly(flows.Name, config.Name)
	}
	h.split(topo.Name, "hosts")
	text := h.scenario(topo.Name, flows.Name) // adds notes
	return finished(text, h.notes)
}

func (h *hpcc) note(format string, args ...any) {
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

func (h *hpcc) readTopology(w *words) {
	w.entry("the number of nodes", "3: the numbers of nodes, switches and links", 3)
	nodes := int(w.integer("the number of nodes", 1, topology.MaxNodes))
	switches := int(w.integer("the number of switches", 0, int64(nodes)))
	links := int(w.integer("the number of links", 0, topology.MaxLinks))
	h.readNodes(w, nodes, switches, links)
}

// readNodes reads the switches and the links.
func (h *hpcc) readNodes(w *words, nodes, switches, links int) {
	h.kind = slices.Repeat([]topology.NodeKind{topology.NIC}, nodes)
	h.rate = make([]unit.Rate, nodes)
	for i := 0; i < switches && !w.ended; i++ {
		h.kind[w.integer("switch", 0, int64(nodes-1))] = topology.Switch
	}
	pairs := map[[2]int]bool{}
	for i := 0; i < links && !w.ended; i++ {
		if w.entry("end of a link", "5: both ends of a link, rate, delay and error rate", 5); w.ended {
			break
		}
		l := hpccLink{ends: [2]int{h.node(w, "end of a link"), h.node(w, "end of a link")}}
		l.rate = w.rate("rate")
		l.delay = w.time("delay", "", unit.Nanosecond, unit.Second)
		l.loss = w.share("error rate")
		pair := [2]int{min(l.ends[0], l.ends[1]), max(l.ends[0], l.ends[1])}
		l.parallel, pairs[pair] = pairs[pair], true
		h.addLink(w, l)
	}
	h.noteRest(w, "link")
	for n, rate := range h.rate {
		if rate == 0 && h.kind[n] == topology.NIC && !w.ended {
			w.fault(w.file, w.line, "host %d has no link", n)
		}
	}
}

func (h *hpcc) node(w *words, what string) int {
	return int(w.integer(what, 0, int64(len(h.kind)-1)))
}

func (h *hpcc) addLink(w *words, l hpccLink) {
	for _, n := range l.ends {
		h.rate[n] = l.rate
	}
	if l.ends[0] == l.ends[1] {
		w.fault(w.file, w.line, "node %d is linked to itself", l.ends[0])
	}
	h.links = append(h.links, l)
}

// checkOrder notes numbers that exports cannot keep: a scenario has its NICs before its switches.
func (h *hpcc) checkOrder() {
	first := slices.Index(h.kind, topology.Switch)
	if first >= 0 && slices.Contains(h.kind[first:], topology.NIC) {
		h.note("switch %d has a lower number than a host: the files of `rackfab export` number all hosts first, nodes.csv has both", first)
	}
}

// Words of a line of flow.txt in the simulator and its forks.
const (
	noPortWords = 5 // without the destination port, as ConWeave's fork (scratch/network-load-balance.cc)
	flowWords   = 6
	idWords     = 7 // with a number before them
)

func (h *hpcc) readFlows(w *words) {
	flows := int(w.integer("the number of flows", 0, topology.MaxFlows))
	wanted := "6: source, destination, priority group, destination port, size and start of a flow; or 5, without the port, or 7, with a number before them"
	allowed := []int{noPortWords, flowWords, idWords}
	for i := 0; i < flows && !w.ended; i++ {
		n := w.entry("source", wanted, allowed...)
		if w.ended {
			break
		}
		if i == 0 {
			allowed, wanted = []int{n}, fmt.Sprintf("%d as on line %d", n, w.next)
		}
		h.readFlow(w, n)
	}
	h.noteFlows(w)
	if len(allowed) == 1 && allowed[0] != flowWords && !w.ended {
		h.note(hpccForks[allowed[0]], w.file)
	}
}

// hpccForks are the notes on lines of flow.txt of forks, by the number of words.
var hpccForks = map[int]string{
	noPortWords: "%s: flows have no destination port: exports have 100",
	idWords:     "%s: ignored: the numbers before the sources of flows",
}

// readFlow reads a line of a number of words.
func (h *hpcc) readFlow(w *words, words int) {
	if words == idWords {
		w.integer("number", 0, math.MaxInt64)
	}
	f := hpccFlow{from: h.node(w, "source"), to: h.node(w, "destination")}
	if w.integer("priority group", 0, 7) != dataGroup {
		h.groups++
	}
	if words != noPortWords {
		port := w.integer("destination port", 0, 65535)
		f.incast = port == incastPort
		if port != incastPort && port != normalPort {
			h.ports++
		}
	}
	f.size = unit.Bytes(w.integer("size", 1, 1e12))
	f.start = w.time("start", "s", 0, topology.LongestRun)
	h.addFlow(w, f)
}

func (h *hpcc) addFlow(w *words, f hpccFlow) {
	for _, n := range []int{f.from, f.to} {
		if h.kind[n] == topology.Switch {
			w.fault(w.file, w.line, "node %d is a switch: want a host", n)
		}
	}
	if f.from == f.to {
		w.fault(w.file, w.line, "host %d would send to itself", f.to)
	}
	if len(h.flows) == 0 || f.start < h.origin {
		h.origin = f.start
	}
	h.flows = append(h.flows, f)
}

func (h *hpcc) noteFlows(w *words) {
	if h.groups > 0 {
		h.note("%s: %s another priority group than %d: all are in class 3 of the scenario", w.file, have(h.groups, "flow"), dataGroup)
	}
	if h.ports > 0 {
		h.note("%s: %s a destination port other than %d and %d: exports have %[3]d", w.file, have(h.ports, "flow"), normalPort, incastPort)
	}
	h.noteRest(w, "flow")
	if h.origin > 0 {
		h.note("time 0 of the scenario is %s of %s: add it to the starts in an exported fct.txt", h.origin, w.file)
	}
}

// noteRest notes words after the last entry of a file.
func (h *hpcc) noteRest(w *words, entry string) {
	if w.skip(); len(w.rest) > 0 && !w.ended {
		h.note("%s:%d: ignored: the rest of the file, after the last %s", w.file, w.next, entry)
	}
}

// endEarly notes what would begin after the stop time of the simulation: the scenario does not have it.
func (h *hpcc) endEarly(flows, config string) {
	c := &h.config
	if c.end > 0 && c.end <= h.origin {
		h.note("%s: ignored: SIMULATOR_STOP_TIME, not after the first flow", config)
		c.end = 0
	}
	late := 0
	for _, f := range h.flows {
		if h.late(f) {
			late++
		}
	}
	if late > 0 {
		h.note("%s: %s left out, at SIMULATOR_STOP_TIME of %s or later", flows, unit.Counted(late, "flow"), config)
	}
	if note := h.dropDown(config, h.origin+h.duration()); note != "" {
		h.note("%s", note)
	}
}

// late reports whether a flow starts only when the simulation has stopped.
func (h *hpcc) late(f hpccFlow) bool { return h.config.end > 0 && f.start >= h.config.end }

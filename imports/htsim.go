package imports

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The formats are those that htsim reads (github.com/Broadcom/csg-htsim and
// github.com/ultraethernet/uet-htsim, sim/datacenter/connection_matrix.cpp and fat_tree_topology.cpp).

// htsim is what a connection matrix says.
type htsim struct {
	faults
	notes    []string
	file     string
	line     int
	unit     unit.Time // of start
	header   map[string]htsimCount
	flows    []htsimFlow
	triggers map[int64]*htsimTrigger
	order    []*htsimTrigger // as in the file
	failures []htsimFailure

	prio, cut int // flows with prio; starts of which a fraction was cut off
	timed     bool
	last      unit.Time // latest start
}

// htsimCount is a line of the header.
type htsimCount struct {
	n    int64
	line int
}

// htsimFlow is a line S->D: a connection, or a message of one.
type htsimFlow struct {
	line     int
	from, to int
	id       int64 // 0 for none
	msg      int64 // 0 for none
	size     unit.Bytes
	endless  bool
	start    unit.Time
	started  bool     // by start
	trigger  int64    // that starts it, 0 for none
	place    int      // among the flows of that trigger
	done     [2]int64 // triggers that it activates when it was sent, and when it was received; 0 for none
	nth      [2]int   // among the lines that activate these
}

// htsimFailure is a line failure.
type htsimFailure struct {
	line          int
	kind          string
	switchN, link int64
}

// htsimRack is the rack of a connection matrix.
type htsimRack interface {
	// append writes the nodes and links.
	append(b []byte, hosts int) []byte
	// speed returns the rate of a host's link, divided by the oversubscription of the switches.
	speed() unit.Rate
	// uplink returns the name of a link upwards from a switch, and whether there is one.
	uplink(kind string, switchN, link int64) (name string, ok bool)
}

// Drivers of htsim.
const (
	DriverUEC = "uec" // of uet-htsim, main_uec.cpp: it has settings of its own for queues, marking and NSCC
	DriverCSG = "csg" // those of csg-htsim: the queues of the topology
)

// HTSimSetup is what a connection matrix is imported with.
type HTSimSetup struct {
	Topology   *File         // a fat tree of htsim, or nil
	Layout     *Layout       // the rack without Topology; nil for the fat tree that htsim's drivers build then
	Start      unit.Time     // unit of start, unit.Microsecond or unit.Picosecond
	Driver     string        // DriverUEC, DriverCSG, or "" for the one that uses the queues of Topology
	Options    *HTSimOptions // of the UEC driver, before those of Arguments; nil for none
	Arguments  *File         // a command line of the UEC driver or a file of its validation, or nil
	Experiment int           // number of the run in Arguments, 0 for that of the matrix
}

// HTSim returns the scenario of a connection matrix of htsim: flows, and programs for those that triggers
// start or that activate some, in the rack and with the settings that htsim's driver has. The error has a line per fault.
func HTSim(connections File, set HTSimSetup) (*Imported, error) {
	h := &htsim{file: connections.Name, unit: set.Start, header: map[string]htsimCount{}, triggers: map[int64]*htsimTrigger{}}
	h.read(connections.Data)
	var o HTSimOptions
	if set.Arguments != nil {
		h.notes = append(h.notes, o.arguments(set.Arguments, h.file, set.Experiment, &h.faults)...)
	}
	if set.Options != nil {
		o.over(set.Options)
	}
	rack := h.rack(&set, &o)
	if err := h.err(); err != nil {
		return nil, err
	}
	text, err := h.scenario(rack, set.Driver, &o) // adds notes
	if err != nil {
		return nil, err
	}
	return finished(text, h.notes)
}

// rack returns the rack, and completes the driver.
func (h *htsim) rack(set *HTSimSetup, o *HTSimOptions) htsimRack {
	n := h.header["Nodes"]
	if nodes := int64(o.get(optNodes, float64(n.n))); nodes != n.n && len(h.list) == 0 {
		h.fault(h.file, n.line, "Nodes %d, but -%s is %d", n.n, optNodes, nodes)
	}
	switch {
	case set.Topology != nil:
		tree := readFatTree(*set.Topology, set.Driver, &h.faults)
		h.notes = append(h.notes, tree.notes...)
		if n.n != tree.header["nodes"] && len(h.list) == 0 {
			h.fault(h.file, n.line, "Nodes %d, but %s has %d", n.n, set.Topology.Name, tree.header["nodes"])
		}
		set.Driver = tree.driver
		tree.noteOptions(h, o, false)
		return tree
	case set.Driver == "":
		set.Driver = DriverUEC
	}
	if set.Layout == nil && len(h.list) == 0 {
		if tree := ownFatTree(h.file, int(n.n), o, &h.faults); tree != nil {
			h.note("no topology: the fat tree of htsim's drivers, with %d tiers and links of %s and %s", tree.top()+1, tree.rate(tierToR), tree.delay(tierToR))
			tree.noteOptions(h, o, true)
			return tree
		}
		h.note("no topology: htsim's drivers refuse Nodes %d, as no fat tree has them; the hosts are around one switch", n.n)
	}
	layout := DefaultLayout
	if set.Layout != nil {
		layout = *set.Layout
	}
	if err := layout.holds(int(n.n), fmt.Sprintf("Nodes %d", n.n)); err != nil && len(h.list) == 0 {
		h.fault(h.file, n.line, "%v", err)
	}
	return layout
}

func (h *htsim) note(format string, args ...any) {
	h.notes = append(h.notes, h.file+": "+fmt.Sprintf(format, args...))
}

// scenario writes the scenario.
func (h *htsim) scenario(rack htsimRack, driver string, o *HTSimOptions) ([]byte, error) {
	order := h.play()
	h.noteFlows(order)
	b := fmt.Appendf(nil, "# Imported from %s, a connection matrix of htsim.\nname: htsim-import\nseed: %d", oneLine(h.file), int64(o.get(optSeed, 1)))
	b = append(b, lines(h.duration(order, rack, o))...)
	hosts := int(h.header["Nodes"].n)
	if driver == DriverUEC {
		u := uec{o: o, mtu: o.get(optMTU, uecMTU)}
		ends := "scheme: nscc\ndefaults:\n" + u.ends()
		if err := u.measure(rack.append([]byte(string(b)+ends), hosts)); err != nil {
			return nil, err
		}
		scheme, parameters := u.schemes()
		h.note("%s", u.note(scheme))
		b = fmt.Appendf(b, "scheme: %s\ncompare: [%[1]s]\ndefaults:\n%s%s%s", scheme, u.ends(), u.switches(), parameters)
	}
	b = rack.append(b, hosts)
	b = h.appendFlows(b, order)
	b = h.appendFailures(b, rack)
	p := newHTSimPrograms(h, order)
	return appendPrograms(b, p.hosts), nil
}

// appendFlows writes the flows that no trigger concerns.
func (h *htsim) appendFlows(b []byte, order *htsimOrder) []byte {
	header := "flows:\n"
	for i := range h.flows {
		f := &h.flows[i]
		if f.step() || !order.runs(i) {
			continue
		}
		size := fmt.Sprintf("%dB", int64(f.size))
		if f.endless {
			size = "endless"
		}
		b = fmt.Appendf(b, "%s  - {name: %s, from: h%d, to: h%d, size: %s", header, h.name(i), f.from, f.to, size)
		if f.start > 0 {
			b = fmt.Appendf(b, ", start: %s", f.start)
		}
		b = append(b, "}\n"...)
		header = ""
	}
	return b
}

// appendFailures takes the failed links down from the beginning.
func (h *htsim) appendFailures(b []byte, rack htsimRack) []byte {
	header := "changes:\n"
	for _, f := range h.failures {
		name, ok := rack.uplink(f.kind, f.switchN, f.link)
		if !ok {
			h.notes = append(h.notes, fmt.Sprintf("%s:%d: ignored: failure of link %d of %s %d, only links from an AGG of the topology upwards can fail", h.file, f.line, f.link, f.kind, f.switchN))
			continue
		}
		h.notes = append(h.notes, fmt.Sprintf("%s:%d: the failed link is %s: link_down at 0", h.file, f.line, name))
		b = fmt.Appendf(b, "%s  - {at: 0s, link_down: %q}\n", header, name)
		header = ""
	}
	return b
}

// step reports whether the flow is a step of programs: it waits, others wait for it, or it is a message of a
// connection.
func (f *htsimFlow) step() bool {
	return f.trigger > 0 || f.done[sent] > 0 || f.done[received] > 0 || f.msg != 0
}

// name returns the name of a flow: F and its id, with its message, or C and its number in the file, from 1.
func (h *htsim) name(i int) string {
	switch f := &h.flows[i]; {
	case f.msg > 0:
		return fmt.Sprintf("F%d-%d", f.id, f.msg)
	case f.id > 0:
		return fmt.Sprintf("F%d", f.id)
	default:
		return fmt.Sprintf("C%d", i+1)
	}
}

// speed returns the rate of a host's link, divided by the oversubscription of the switches.
func (l Layout) speed() unit.Rate { return l.Rate }

// uplink returns none: failures name switches of a topology of htsim.
func (Layout) uplink(string, int64, int64) (string, bool) { return "", false }

// duration returns the length of the run: for all flows that may begin together, twice the time that the
// busiest host needs for them; with the last start, the delays, and 1 ms. -end replaces it.
func (h *htsim) duration(order *htsimOrder, rack htsimRack, o *HTSimOptions) unit.Time {
	if o.has(optEnd) {
		return unit.Time(o.get(optEnd, 0)) * unit.Microsecond
	}
	bytes := map[[3]int]unit.Bytes{} // by level, host and direction
	busiest := make([]unit.Bytes, order.levels)
	var last unit.Time
	for _, i := range order.flows {
		f, level := &h.flows[i], order.level[i]
		last = max(last, f.start)
		for way, n := range []int{f.from, f.to} {
			key := [3]int{level, n, way}
			bytes[key] += f.size
			busiest[level] = max(busiest[level], bytes[key])
		}
	}
	sum := 0.0
	for _, b := range busiest {
		sum += 2*float64(b)*8/float64(rack.speed()) + 100e-6
	}
	sum += last.Seconds() + 0.001
	return unit.Time(1e6*min(sum, topology.LongestRun.Seconds())) * unit.Microsecond
}

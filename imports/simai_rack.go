package imports

import (
	"maps"
	"slices"

	operation "github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// readRack reads a topology, and returns the number of its GPUs.
func (s *simai) readRack(w *words) (hosts int) {
	w.entry("the number of nodes", "6: the numbers of nodes, GPUs per server, NVLink switches, other switches and links, and the type of GPU", 6)
	nodes := int(w.integer("the number of nodes", 1, topology.MaxNodes))
	perServer := w.integer("GPUs per server", 1, topology.MaxNodes)
	local := int(w.integer("the number of NVLink switches", 0, int64(nodes)))
	others := int(w.integer("the number of other switches", 0, int64(nodes)))
	links := int(w.integer("the number of links", 0, topology.MaxLinks))
	gpu := w.word("type of GPU")
	if local+others > nodes {
		w.fault(w.file, 1, "%d of %d nodes are switches", local+others, nodes)
	}
	if w.ended || local+others > nodes {
		return 0
	}
	s.note("%s: ignored: %d GPUs per server and type %s, the links show the servers", w.file, perServer, oneLine(gpu))
	s.readNodes(w, nodes, local+others, links)
	hosts = nodes - local - others
	if first := slices.Index(s.kind, topology.Switch); first >= 0 && first < hosts {
		w.fault(w.file, 2, "node %d is a switch, want GPUs 0 to %d and switches after them", first, hosts-1)
	}
	s.locate(hosts, local)
	return hosts
}

// locate finds the place of each GPU: its server is that of its first NVLink switch, and its rail its number in there.
func (s *simai) locate(hosts, local int) {
	server := make([]int, hosts) // of each GPU, the first NVLink switch, or a number of its own
	for i := range server {
		server[i] = -1 - i
	}
	for _, l := range s.links {
		host, sw := min(l.ends[0], l.ends[1]), max(l.ends[0], l.ends[1])
		if host < hosts && sw >= hosts && sw < hosts+local && (server[host] < 0 || sw < server[host]) {
			server[host] = sw
		}
	}
	count := map[int]int{}
	for _, n := range server {
		s.places = append(s.places, operation.Place{Server: n, Rail: count[n]})
		count[n]++
	}
}

// railsOf returns the number of rails of ranks, 0 without a topology.
func (s *simai) railsOf(ranks []int) int {
	if s.places == nil {
		return 0
	}
	places := make([]operation.Place, len(ranks))
	for i, rank := range ranks {
		places[i] = s.places[rank]
	}
	return operation.RailsOf(places)
}

// fillThresholds adds the thresholds of links whose rates the configuration lacks, as NVLink's: those of the next lower rate,
// or of the lowest one.
func (s *simai) fillThresholds() {
	c := &s.config
	rates := slices.Sorted(maps.Keys(c.kmin))
	if len(rates) == 0 || c.scheme != "dcqcn" && c.scheme != "dctcp" {
		return
	}
	for _, l := range s.links {
		at, found := slices.BinarySearch(rates, l.rate)
		if found || c.kmin[l.rate] != "" {
			continue
		}
		like := rates[max(at-1, 0)]
		c.kmin[l.rate], c.kmax[l.rate], c.pmax[l.rate] = c.kmin[like], c.kmax[like], c.pmax[like]
		s.note("no thresholds for links of %s: they have those for %s", l.rate, like)
	}
}

// setBuffers sets the buffers of switches, with room for the headroom of all ports, unless BUFFER_SIZE has it.
func (s *simai) setBuffers() {
	links := make([][]topology.Link, len(s.kind))
	for _, l := range s.links {
		for _, n := range l.ends {
			link := topology.DefaultLink()
			link.Rate, link.Delay, link.MTU = l.rate, l.delay, max(link.MTU, unit.Bytes(s.config.payload+frameHeaders))
			links[n] = append(links[n], link)
		}
	}
	given, raised := unit.Bytes(s.config.buffer)<<20, 0
	reserve := topology.DefaultSwitch().Reserve
	s.buffer = map[int]unit.Bytes{}
	for n, list := range links {
		var rate unit.Rate
		var delay unit.Time
		for _, l := range list {
			rate, delay = max(rate, l.Rate), max(delay, l.Delay)
		}
		needs := 2 * unit.Bytes(len(list)) * (reserve + topology.DefaultHeadroom(list))
		if s.kind[n] == topology.NIC || len(list) == 0 || needs <= given {
			continue
		}
		s.buffer[n] = max(needs, unit.Bytes(bufferOf(len(list), rate, delay)))
		raised += int(min(given, 1))
	}
	if raised > 0 {
		s.note("%d switches have a larger buffer than BUFFER_SIZE, for the headroom of their ports", raised)
	}
}

// down appends the failure of a link, which counts from 2 s, unless the run ends before.
func (s *simai) down(made *Imported, config string) error {
	of, err := parsed(made.Scenario)
	if err != nil {
		return err
	}
	if note := s.dropDown(config, of.Duration); note != "" {
		made.Notes = append(made.Notes, note)
	}
	made.Scenario = s.appendChanges(made.Scenario)
	return nil
}

// layout returns the rate and delay by which the length of the run is chosen: those of the slowest and of the longest link.
func (s *simai) layout() Layout {
	l := DefaultLayout
	for i, link := range s.links {
		if i == 0 {
			l.Rate, l.Delay = link.rate, 0
		}
		l.Rate, l.Delay = min(l.Rate, link.rate), max(l.Delay, link.delay)
	}
	l.Delay *= 3 // a path has more links than around one switch
	return l
}

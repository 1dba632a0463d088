package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operation "github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The formats are those of SimAI (github.com/aliyun/SimAI): the workload that AICB writes and
// astra-sim/workload/Workload.cc reads, and the topology that gen_Topo_Template.py writes.
// The order of the passes is that of Workload.cc, iterate_hybrid_parallel_Transformer_fwd_in_bckwd: the forward passes of
// all layers, then for each layer from the last one the input gradient and the weight gradient. The program waits
// for the collectives of the first two, and not for those of weight gradients.

// simai is what a workload says, with the rack that its topology describes.
type simai struct {
	hpcc // the rack, the configuration, faults and notes
	load // of all ranks
	file string

	policy         string
	tp, ep, pp, ga int   // sizes of groups, stages, microbatches
	ranks          int   // 0 until it is known
	chunks         int   // vpp
	message        int64 // pp_comm, bytes from stage to stage
	checkpoints    map[int]bool
	initiates      map[int]bool // by layer: repeats the forward passes since the last checkpoint
	layers         []simaiLayer

	places []operation.Place    // of the GPUs, nil without a topology
	groups [simaiGroups][][]int // ranks, by group
	member [simaiGroups][]int   // by rank, the group

	broadcasts, empty, alone, small, skipped, depends, pairs int // collectives and layers that differ in the scenario
}

// SimAI returns the scenario of a workload: rank n is the program of h<n>, and the collectives of its layers are
// collectives of the scenario. topo is a topology of SimAI and config its configuration, which may be nil. If topo is nil,
// layout is the rack. The error has a line per fault.
func SimAI(workload File, topo, config *File, layout Layout) (*Imported, error) {
	s := &simai{file: workload.Name}
	s.readWorkload(workload)
	hosts := 0
	if topo != nil {
		hosts = s.readRack(wordsOf(*topo, &s.faults))
	}
	if config != nil && len(s.kind) > 0 {
		if s.readConfig(*config); s.config.end > 0 {
			s.note("%s: ignored: SIMULATOR_STOP_TIME, the run is as long as the workload", config.Name)
		}
	}
	s.arrange(hosts)
	if err := s.err(); err != nil {
		return nil, err
	}
	if topo != nil {
		s.fillThresholds()
		s.split(topo.Name, "GPUs")
		s.setBuffers()
	}
	p := s.program() // adds notes
	if err := s.err(); err != nil {
		return nil, err
	}
	text, layout, err := s.rack(topo, layout)
	if err != nil {
		return nil, err
	}
	text = appendCollectives(appendPrograms(text, p.hosts), p.list)
	s.noteWorkload(p.list)
	made, err := layout.finished(text, s.notes)
	if err == nil && s.config.down != nil {
		err = s.down(made, config.Name)
	}
	return made, err
}

// rack returns the text of the rack, and its layout.
func (s *simai) rack(topo *File, layout Layout) ([]byte, Layout, error) {
	const name = "simai-import"
	if topo == nil {
		if err := layout.holds(s.ranks, fmt.Sprintf("%s has %d GPUs", s.file, s.ranks)); err != nil {
			return nil, layout, err
		}
		return layout.scenario(name, s.file+", a workload of SimAI", s.ranks, &s.load), layout, nil
	}
	layout = s.layout()
	text := layout.header(name, s.file+" and "+topo.Name+", files of SimAI", &s.load)
	return s.appendRack(text), layout, nil
}

// arrange checks the sizes of the groups and makes them. hosts is the number of GPUs of the topology, 0 without one.
func (s *simai) arrange(hosts int) {
	if s.ranks == 0 {
		s.ranks = hosts
	}
	switch {
	case len(s.list) > 0:
		return
	case s.ranks == 0:
		s.fault(s.file, 1, "no all_gpus: want it, or a topology")
		return
	case hosts > 0 && s.ranks > hosts:
		s.fault(s.file, 1, "all_gpus: %d, but the topology has %d GPUs", s.ranks, hosts)
		return
	case hosts > s.ranks:
		s.note("%s:1: all_gpus: %d: the other %d GPUs of the topology are idle", s.file, s.ranks, hosts-s.ranks)
	}
	if s.policy == simaiMicro {
		s.tp, s.ep, s.pp = 1, 1, 1
	}
	dp := s.ranks / (s.tp * s.pp)
	switch {
	case dp*s.tp*s.pp != s.ranks:
		s.fault(s.file, 1, "all_gpus: %d is not a multiple of model_parallel_NPU_group: %d times pp: %d", s.ranks, s.tp, s.pp)
		return
	case dp%s.ep != 0:
		s.fault(s.file, 1, "ep: %d does not divide %d, which is all_gpus: %d by model_parallel_NPU_group: %d and pp: %d", s.ep, dp, s.ranks, s.tp, s.pp)
		return
	case slices.Max(append(slices.Collect(maps.Keys(s.initiates)), 0)) >= len(s.layers):
		s.fault(s.file, 1, "checkpoint_initiates: want layers from 0 to %d", len(s.layers)-1)
		return
	case len(s.layers)*s.ranks > maxLayerRanks:
		s.fault(s.file, 2, "%d layers of %d GPUs, want a product of at most %d", len(s.layers), s.ranks, maxLayerRanks)
		return
	}
	s.makeGroups(dp)
}

// maxLayerRanks bounds the layers of all ranks together.
const maxLayerRanks = 1 << 20

// noteWorkload notes what the scenario does not say.
func (s *simai) noteWorkload(list []*collective) {
	for _, n := range []struct {
		count      int
		noun, what string
	}{
		{s.broadcasts, "BROADCAST", "left out, as by SimAI"},
		{s.empty, "collective", "of 0 bytes left out"},
		{s.alone, "collective", "of one GPU left out"},
		{s.small, "collective", "of less than a byte per GPU: of a byte per GPU now"},
		{s.pairs, "ALLREDUCEALLTOALL", "as an all-reduce, and an all-to-all of the same size after it"},
		{s.skipped, "collective", "of other passes than the weight gradient left out, as by SimAI in MICRO"},
		{s.depends, "layer", "with a dependency on others: ignored, as by SimAI"},
	} {
		if n.count > 0 {
			s.note("%s: %s %s", s.file, unit.Counted(n.count, n.noun), n.what)
		}
	}
	if len(list) > 0 {
		s.note("%s the default algorithm of the kind: workloads name none", have(len(list), "collective"))
	}
	if n := byRail(list); n > 0 {
		s.note("%s GPUs of several servers: a ring per rail, so that all NICs of a server send", have(n, "collective"))
	}
}

// sorted writes the keys of a map in order.
func sorted[V any](of map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(of)), ", ")
}

package imports

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Policies of a workload. The passes of the second one are those of the first, without recomputation.
const (
	simaiRecompute   = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
	simaiTransformer = "HYBRID_TRANSFORMER"
	simaiMicro       = "MICRO"
)

var simaiPolicies = []string{simaiTransformer, simaiRecompute, simaiMicro}

// simaiKinds are the collectives by their names in a workload. Several are one after the other.
var simaiKinds = map[string][]string{
	"ALLREDUCE":         {"all-reduce"},
	"ALLTOALL":          {"all-to-all"},
	"ALLREDUCEALLTOALL": {"all-reduce", "all-to-all"},
	"ALLGATHER":         {"all-gather"},
	"REDUCESCATTER":     {"reduce-scatter"},
}

// Passes of a layer.
const (
	passForward = iota
	passInput
	passWeight
	simaiPasses
)

// passNames name the passes in faults.
var passNames = [...]string{"forward", "input gradient", "weight gradient"}

// simaiLayer is a line of a workload.
type simaiLayer struct {
	name   string
	passes [simaiPasses]simaiPass
	update int64 // ns from the end of a collective until its data can be used
}

// simaiPass is a computation and the collective after it.
type simaiPass struct {
	time  int64 // ns
	kinds []string
	group int
	size  int64 // bytes
}

// Largest numbers of a workload.
const (
	simaiTime = 1e12 // ns
	simaiData = 1 << 40
)

// readWorkload reads a workload. After the second line ends of lines mean nothing.
func (s *simai) readWorkload(f File) {
	header, rest, _ := bytes.Cut(f.Data, []byte("\n"))
	s.readHeader(strings.Fields(string(header)))
	w := wordsOf(File{f.Name, rest}, &s.faults)
	w.line, w.next = 2, 2
	layers := w.integer("the number of layers", 1, maxLayerRanks)
	for i := int64(0); i < layers && !w.ended; i++ {
		s.readLayer(w)
	}
	if w.skip(); len(w.rest) > 0 && !w.ended {
		s.note("%s:%d: ignored: the rest of the file, after the last layer", f.Name, w.next)
	}
}

// readHeader reads the policy, and the keys with their values.
func (s *simai) readHeader(words []string) {
	s.tp, s.ep, s.pp, s.ga, s.checkpoints, s.initiates = 0, 1, 1, 1, map[int]bool{}, map[int]bool{}
	if len(words) == 0 || !slices.Contains(simaiPolicies, words[0]) {
		s.fault(s.file, 1, "policy %q, want %s", strings.Join(words[:min(1, len(words))], ""), strings.Join(simaiPolicies, ", "))
		return
	}
	s.policy = words[0]
	for words = words[1:]; len(words) > 0; {
		words = s.readKey(words)
	}
	switch {
	case s.policy == simaiMicro:
	case s.tp == 0:
		s.fault(s.file, 1, "no model_parallel_NPU_group")
	case s.pp > 1 && s.message == 0:
		s.fault(s.file, 1, "pp: %d without pp_comm, the bytes from stage to stage", s.pp)
	case s.pp == 1 && s.message > 0:
		s.note("%s:1: ignored: pp_comm, there is one stage", s.file)
	case s.pp > 1 && s.chunks > 1:
		s.note("%s:1: ignored: vpp: %d, each stage passes on a microbatch once", s.file, s.chunks)
	}
	if s.policy == simaiTransformer && len(s.initiates) > 0 {
		s.note("%s:1: ignored: checkpoint_initiates, not used by %s", s.file, s.policy)
		s.initiates = nil
	}
}

// readKey reads a key and its values, and returns the words after them.
func (s *simai) readKey(words []string) []string {
	key := strings.TrimSuffix(words[0], ":")
	to := map[string]*int{"model_parallel_NPU_group": &s.tp, "ep": &s.ep, "pp": &s.pp, "ga": &s.ga, "vpp": &s.chunks, "all_gpus": &s.ranks}[key]
	if len(words) == 1 {
		s.fault(s.file, 1, "%s without a value", words[0])
		return nil
	}
	switch value := words[1]; {
	case to != nil:
		n, _ := s.integer(s.file, 1, key, value, 1, topology.MaxNodes-1)
		*to = int(n)
	case key == "pp_comm": // in some files with a fraction
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n >= 0 && n <= math.MaxInt32) {
			s.fault(s.file, 1, "pp_comm %q, want 0 to %d bytes", value, math.MaxInt32)
		}
		s.message = int64(n)
	case key == "checkpoints":
		return s.readList(key, words[1:], s.checkpoints)
	case key == "checkpoint_initiates":
		return s.readList(key, words[1:], s.initiates)
	default:
		s.note("%s:1: ignored: %s %s", s.file, oneLine(words[0]), oneLine(value))
	}
	return words[2:]
}

// readList reads a number of layers, and the layers.
func (s *simai) readList(key string, words []string, to map[int]bool) []string {
	n, _ := s.integer(s.file, 1, key, words[0], 0, maxLayerRanks)
	if n >= int64(len(words)) {
		s.fault(s.file, 1, "%s: %d layers, but %d are given", key, n, len(words)-1)
		return nil
	}
	for _, word := range words[1 : n+1] {
		layer, _ := s.integer(s.file, 1, key, word, 0, maxLayerRanks)
		to[int(layer)] = true
	}
	return words[n+1:]
}

// readLayer reads the 12 words of a layer.
func (s *simai) readLayer(w *words) {
	l := simaiLayer{name: w.word("name of a layer")}
	if w.integer("layer that it depends on", -1, math.MaxInt32) != -1 && !w.ended {
		s.depends++
	}
	for i := range l.passes {
		p := &l.passes[i]
		p.time = w.integer("time of the "+passNames[i]+" in ns", 0, simaiTime)
		word := w.word("collective of the " + passNames[i])
		line := w.line
		p.size = w.integer("size of the "+passNames[i]+"'s collective", 0, simaiData)
		if !w.ended {
			s.readCollective(w, line, word, i, p)
		}
	}
	l.update = w.integer("update time in ns", 0, simaiTime)
	s.layers = append(s.layers, l)
}

// readCollective reads the kind of a collective and its group.
func (s *simai) readCollective(w *words, line int, word string, pass int, p *simaiPass) {
	p.group = groupTP
	if pass == passWeight {
		p.group = groupDP
	}
	name, expert := strings.CutSuffix(word, "_EP")
	if expert {
		p.group = groupEP
	}
	if name, expert = strings.CutSuffix(name, "_DP"); expert {
		p.group = groupDPEP
	}
	kinds, known := simaiKinds[name]
	switch {
	case word == "NONE":
	case word == "BROADCAST":
		s.broadcasts++
	case !known || expert && !strings.HasSuffix(word, "_EP"):
		w.fault(w.file, line, "collective %q of the %s, want NONE, %s, alone or with _EP or _DP_EP", word, passNames[pass], sorted(simaiKinds))
	case p.size == 0:
		s.empty++
	default:
		p.kinds = kinds
	}
}

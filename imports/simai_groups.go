package imports

// Groups of ranks that exchange data. Ranks are numbered by tensor, then by expert, data and pipeline parallelism, so
// that those of a tensor-parallel group are consecutive.
const (
	groupTP   = iota // model_parallel_NPU_group consecutive ranks
	groupDP          // ranks of one stage, with one place in their tensor-parallel groups
	groupEP          // ep consecutive ranks of a data-parallel group
	groupDPEP        // ranks of a data-parallel group with one place in their expert-parallel groups
	simaiGroups
)

// makeGroups makes the groups of all kinds. dp is the size of a data-parallel group.
func (s *simai) makeGroups(dp int) {
	for kind := range s.member {
		s.member[kind] = make([]int, s.ranks)
	}
	for first := 0; first < s.ranks; first += s.tp {
		s.addGroup(groupTP, first, s.tp, 1)
	}
	for stage := range s.pp {
		for place := range s.tp {
			first := stage*s.tp*dp + place
			s.addGroup(groupDP, first, dp, s.tp)
			for n := range dp / s.ep {
				s.addGroup(groupEP, first+n*s.ep*s.tp, s.ep, s.tp)
			}
			for n := range s.ep {
				s.addGroup(groupDPEP, first+n*s.tp, dp/s.ep, s.ep*s.tp)
			}
		}
	}
}

// addGroup adds a group of ranks, each of which is that much more than the one before.
func (s *simai) addGroup(kind, first, size, step int) {
	group := make([]int, size)
	for i := range group {
		group[i] = first + i*step
		s.member[kind][group[i]] = len(s.groups[kind])
	}
	s.groups[kind] = append(s.groups[kind], group)
}

package imports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The format is that of the execution traces of Chakra (github.com/mlcommons/chakra,
// schema/protobuf/et_def.proto), as ASTRA-sim reads them (github.com/astra-sim/astra-sim, astra-sim/workload).

// chakra is what the traces of all ranks say.
type chakra struct {
	faults
	load
	ranks  []*chakraRank
	groups map[string][]int
	given  bool // groups are those of a file
	nodes  int  // of all ranks

	left                        map[string]int // nodes left out, by what they are
	empty, small, priority, dim int            // messages of 0 bytes, sizes made larger, attributes without effect
	broadcasts, joined          int            // nodes that broadcast; collectives
	removed                     int            // entries of ctrl_deps whose node is not in the file
	unversioned                 int            // files without a version
}

// chakraRank is the trace of a rank: its nodes in the order of their numbers.
type chakraRank struct {
	rank  int
	file  string
	nodes []chakraNode
	steps []step
}

// at adds a fault of a node.
func (c *chakra) at(r *chakraRank, id uint64, format string, args ...any) {
	c.add(fmt.Sprintf("%s: node %d: ", r.file, id) + fmt.Sprintf(format, args...))
}

// Chakra returns the scenario of execution traces, one file per rank: rank n is the program of h<n>, and its
// collectives are collectives of the scenario. groups is a JSON file with the ranks of groups by their names, nil for
// those that the traces describe. rack is the text of a scenario with these NICs and without programs and
// collectives; if it is nil, layout is the rack. The error has a line per fault.
func Chakra(traces []File, groups, rack *File, layout Layout) (*Imported, error) {
	c := &chakra{groups: map[string][]int{}, left: map[string]int{}}
	c.order(traces)
	if groups != nil {
		c.readGroups(groups)
	}
	for i, r := range c.ranks {
		c.read(r, traces[i])
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	list := c.collectives()
	if why := refused(list); why != "" {
		c.add(c.ranks[0].file + " and others: " + why)
	}
	hosts := make([][]step, len(c.ranks))
	for i, r := range c.ranks {
		c.program(r)
		hosts[i] = r.steps
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	text, err := c.rack(rack, layout)
	if err != nil {
		return nil, err
	}
	text = appendCollectives(appendPrograms(text, hosts), list)
	out, err := layout.finishedIn(rack, text, c.notes())
	return out, blamed(err, text, hosts, func(host int, s *step) string {
		return fmt.Sprintf("%s: node %s", c.ranks[host].file, strings.TrimPrefix(s.label, "n"))
	})
}

// chakraName is the name of a trace: NAME.RANK.et, perhaps with .gz.
var chakraName = regexp.MustCompile(`\.([0-9]{1,6})\.et(\.gz)?$`)

// order sorts the traces by their ranks, and checks that none is missing.
func (c *chakra) order(traces []File) {
	ranks := map[string]int{}
	for _, f := range traces {
		m := chakraName.FindStringSubmatch(f.Name)
		if m == nil {
			c.add(f.Name + ": no rank in the name, want NAME.RANK.et")
			continue
		}
		ranks[f.Name], _ = strconv.Atoi(m[1])
	}
	slices.SortStableFunc(traces, func(a, b File) int { return cmp.Compare(ranks[a.Name], ranks[b.Name]) })
	for i, f := range traces {
		c.ranks = append(c.ranks, &chakraRank{rank: i, file: f.Name})
		switch rank := ranks[f.Name]; {
		case len(c.list) > 0 || rank == i: // the first difference is reported
		case rank < i:
			c.add(fmt.Sprintf("%s: rank %d has another trace, %s", f.Name, rank, traces[i-1].Name))
		default:
			c.add(fmt.Sprintf("%s: no trace of rank %d, want one of each rank from 0 on", f.Name, i))
		}
	}
	if len(traces) == 0 {
		c.add("no traces, want one of each rank")
	}
}

// rack returns the text of the rack.
func (c *chakra) rack(rack *File, layout Layout) ([]byte, error) {
	if rack == nil {
		if err := layout.holds(len(c.ranks), fmt.Sprintf("%s and others have %d ranks", c.ranks[0].file, len(c.ranks))); err != nil {
			return nil, err
		}
		return layout.scenario("chakra-import", c.ranks[0].file+" and others, traces of Chakra", len(c.ranks), &c.load), nil
	}
	s, err := rack.withHosts(len(c.ranks), func(i int) string { return "runs " + c.ranks[i].file })
	if err != nil {
		return nil, err
	}
	return rack.text(), rack.withoutSteps(s)
}

// notes returns what the scenario does not say.
func (c *chakra) notes() (notes []string) {
	if n := c.unversioned; n > 0 {
		notes = append(notes, fmt.Sprintf("%s no version, as Chakra's PyTorch and Text converters write it: read by the schema of version 1.0.0", have(n, "file")))
	}
	var left []string
	for what, n := range c.left {
		left = append(left, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(left)
	if len(left) > 0 {
		notes = append(notes, "left out, with their waits passed on: nodes "+strings.Join(left, ", "))
	}
	for _, n := range []struct {
		count int
		what  string
	}{
		{c.empty, "size 0 of COMM_SEND: the message has 1 byte"},
		{c.small, "comm_size of COMM_COLL: too small for a byte per rank, which it becomes"},
		{c.broadcasts, "BROADCAST without a root: the first rank of the group sends"},
		{c.priority, "comm_priority: ignored"},
		{c.dim, "involved_dim: ignored, all ranks of the group take part"},
		{c.removed, "ctrl_deps: ignored, on a node that the file does not have"},
	} {
		if n.count > 0 {
			notes = append(notes, have(n.count, "node")+" "+n.what)
		}
	}
	if c.joined > 0 {
		notes = append(notes, have(c.joined, "collective")+" the default algorithm of the kind: traces name none")
	}
	return notes
}

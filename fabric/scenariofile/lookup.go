package scenariofile

import (
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
)

// lookup finds links, flows and commands by their names. Its maps grow with the scenario, so that a file with many
// changes takes no search through all of them for each change.
type lookup struct {
	links    map[ends]int
	flows    map[string]indices // of single flows, of those of bursts, and of bursts
	commands map[string]int
	total    int // of the commands so far

	atLink, atFlow, atCommand int // the first ones that are not in the maps yet
}

func newLookup() lookup {
	return lookup{links: map[ends]int{}, flows: map[string]indices{}, commands: map[string]int{}}
}

// ends are the nodes of a link, in either order, and the number of earlier links between them.
type ends struct{ a, z, parallel int }

// directions returns the directions that the part of a setting's key names: "link" is every direction, "A--B" both
// directions of a link, "A->B" one.
func (b *builder) directions(part string) (list []topology.Direction) {
	if part == "link" {
		for i := range b.s.Links {
			list = append(list, topology.Direction{Link: i, Way: topology.Forth}, topology.Direction{Link: i, Way: topology.Back})
		}
		return list
	}
	if i := b.linkNamed(part, "--"); i >= 0 {
		return []topology.Direction{{Link: i, Way: topology.Forth}, {Link: i, Way: topology.Back}}
	}
	if i := b.linkNamed(part, "->"); i >= 0 {
		for way, name := range b.s.DirectionNames(i) {
			if name == part {
				return []topology.Direction{{Link: i, Way: way}}
			}
		}
	}
	return nil
}

// linkNamed returns the index of the link with these ends, between which the name has a separator, or -1 if there is
// none. The name of the second link between the same two switches ends with "#2".
func (b *builder) linkNamed(name, separator string) int {
	for k := &b.lookup; k.atLink < len(b.s.Links); k.atLink++ {
		l := &b.s.Links[k.atLink]
		k.links[ends{l.A, l.B, l.Parallel}], k.links[ends{l.B, l.A, l.Parallel}] = k.atLink, k.atLink
	}
	name, nth, _ := strings.Cut(name, "#")
	parallel := 1
	if nth != "" {
		var err error
		if parallel, err = strconv.Atoi(nth); err != nil || parallel < 2 || strconv.Itoa(parallel) != nth {
			return -1
		}
	}
	for at := range name { // names of nodes may have a hyphen
		if !strings.HasPrefix(name[at:], separator) {
			continue
		}
		a, okA := b.index[name[:at]]
		z, okZ := b.index[name[at+len(separator):]]
		if i, ok := b.lookup.links[ends{a, z, parallel - 1}]; ok && okA && okZ {
			return i
		}
	}
	return -1
}

// flowsNamed returns the indices of the flow of that name, or of the flows of the burst of that name.
func (b *builder) flowsNamed(name string) (list []int) {
	if b.s.Folded { // most flows are in no list
		return b.s.FlowsNamed(name)
	}
	for k := &b.lookup; k.atFlow < len(b.s.Flows); k.atFlow++ {
		i, f := k.atFlow, &b.s.Flows[k.atFlow]
		k.flows[f.Name] = indices{i, i + 1}
		if f.Burst < 0 {
			continue
		}
		burst := b.s.Bursts[f.Burst].Name
		if all, ok := k.flows[burst]; ok && all.end == i {
			k.flows[burst] = indices{all.first, i + 1}
		} else {
			k.flows[burst] = indices{i, i + 1}
		}
	}
	for i := b.lookup.flows[name].first; i < b.lookup.flows[name].end; i++ {
		list = append(list, i)
	}
	return list
}

// commandsNamed returns the index of the commands of that name, or -1 if there are none.
func (b *builder) commandsNamed(name string) int {
	b.countCommands()
	if i, ok := b.lookup.commands[name]; ok {
		return i
	}
	return -1
}

// countCommands returns the number of commands of all entries.
func (b *builder) countCommands() int {
	for k := &b.lookup; k.atCommand < len(b.s.Commands); k.atCommand++ {
		c := &b.s.Commands[k.atCommand]
		k.commands[c.Name] = k.atCommand
		k.total += c.Total()
	}
	return b.lookup.total
}

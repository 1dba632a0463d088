package imports

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// readGroups reads the groups of a file: {"1": [0, 1], "2": [2, 3]}. Those of the traces are not read then.
func (c *chakra) readGroups(f *File) {
	c.given = true
	var groups map[string][]int
	if err := json.Unmarshal(f.Data, &groups); err != nil {
		c.add(fmt.Sprintf(`%s: %v, want the ranks of each group, like {"1": [0, 1], "2": [2, 3]}`, f.Name, err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		ranks, why := c.group(name, groups[name])
		if why != "" {
			c.add(fmt.Sprintf("%s: group %q: %s", f.Name, name, why))
		}
		c.groups[name] = ranks
	}
}

// processGroup is a group as PyTorch describes it.
type processGroup struct {
	Name  *string `json:"pg_name"`
	Ranks []int   `json:"ranks"`
}

// processGroups reads the groups of a node: a list in JSON, which PyTorch has put into brackets and quotes.
func (c *chakra) processGroups(r *chakraRank, m *chakrav1.Node) {
	text := m.GetInputs().GetValues()
	if c.given || !strings.Contains(text, `"pg_name"`) {
		return
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, `["`), `"]`)
	var list []processGroup
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		c.at(r, m.GetId(), `process groups: %v, want [{"pg_name": "1", "ranks": [0, 1]}]`, err)
		return
	}
	for _, g := range list {
		if g.Name == nil {
			c.at(r, m.GetId(), "a process group has no pg_name")
			continue
		}
		ranks, why := c.group(*g.Name, g.Ranks)
		if why != "" {
			c.at(r, m.GetId(), "group %q: %s", *g.Name, why)
			continue
		}
		if before, ok := c.groups[*g.Name]; ok && !slices.Equal(before, ranks) {
			c.at(r, m.GetId(), "group %q has ranks %v, but %v at another node", *g.Name, ranks, before)
		}
		c.groups[*g.Name] = ranks
	}
}

// group returns the ranks of a group, all if none is given, and why they are invalid, "" if they are not.
func (c *chakra) group(name string, ranks []int) (list []int, why string) {
	if name == "" {
		return nil, "want a name"
	}
	if len(ranks) == 0 {
		return c.everyRank(), ""
	}
	seen := map[int]bool{}
	for _, n := range ranks {
		if n < 0 || n >= len(c.ranks) {
			return nil, fmt.Sprintf("rank %d, want an integer from 0 to %d", n, len(c.ranks)-1)
		}
		if seen[n] {
			return nil, fmt.Sprintf("rank %d comes twice", n)
		}
		seen[n] = true
	}
	return ranks, ""
}

func (c *chakra) everyRank() []int {
	all := make([]int, len(c.ranks))
	for i := range all {
		all[i] = i
	}
	return all
}

// groupNamed returns the ranks of a group, and the name of its collectives. Without a name it has all ranks, and so has
// group 0 unless it is described.
func (c *chakra) groupNamed(name string) (key string, ranks []int, ok bool) {
	if ranks, ok = c.groups[name]; ok {
		return name, ranks, true
	}
	return "", c.everyRank(), name == "" || name == "0"
}

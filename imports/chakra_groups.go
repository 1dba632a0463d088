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

// processGroups reads the groups of a METADATA node, or of PyTorch's node of that name, which older converters give
// another type.
func (c *chakra) processGroups(r *chakraRank, m *chakrav1.Node) {
	if c.given || m.GetType() != chakrav1.NodeType_NODE_TYPE_METADATA && !strings.Contains(m.GetName(), "process_group:init") {
		return
	}
	text := unlisted(m.GetInputs().GetValues())
	if !strings.Contains(text, `"pg_name"`) {
		return
	}
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

// unlisted returns the text in a list of one text, as Python or JSON writes lists: ['...'] or ["..."], where the PyTorch
// converter leaves quotes in the text as they are. Other text is returned as it is.
func unlisted(text string) string {
	text = strings.TrimSpace(text)
	for _, quote := range []string{`'`, `"`} {
		inner, begins := strings.CutPrefix(text, "["+quote)
		inner, ends := strings.CutSuffix(inner, quote+"]")
		if begins && ends {
			return unescaped(inner)
		}
	}
	return text
}

// unescaped returns text without the backslashes that Python and JSON put before quotes and backslashes.
func unescaped(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`).Replace(text)
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

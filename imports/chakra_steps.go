package imports

import (
	"fmt"
	"slices"
	"strings"
)

// chakraPassed bounds the waits that a node that is left out passes on. One with more becomes a gate.
const chakraPassed = 16

// program makes the steps of a rank. A step waits for what its node waits for, and for what nodes wait for that
// are left out.
func (c *chakra) program(r *chakraRank) {
	done := make([][]string, len(r.nodes)) // the names to wait for, by node
	steps := make([]step, len(r.nodes))    // by node, without text if there is none
	for _, i := range c.sequence(r) {
		n := &r.nodes[i]
		waits := r.waits(n, done)
		label := fmt.Sprintf("n%d", n.id)
		switch {
		case n.text != "":
			steps[i], done[i] = step{label: label, text: n.text, after: waits}, []string{label}
		case n.call != nil && n.call.into != nil:
			if len(waits) > 0 {
				n.call.into.after = n.call.into.name + "-in"
				steps[i] = gate(n.call.into.after, waits)
			}
			done[i] = []string{n.call.into.name}
		case len(waits) > chakraPassed:
			steps[i], done[i] = gate(label, waits), []string{label}
		default:
			done[i] = waits
		}
	}
	r.steps = slices.DeleteFunc(steps, func(s step) bool { return s.text == "" })
}

// gate returns a step that only waits.
func gate(label string, waits []string) step {
	return step{label: label, text: fmt.Sprintf("calc 0s on %d", chakraGate), after: waits}
}

// waits returns the names that a node waits for, each once.
func (r *chakraRank) waits(n *chakraNode, done [][]string) (list []string) {
	seen := map[string]bool{}
	for _, id := range n.deps {
		for _, name := range done[r.index(id)] {
			if !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	return list
}

// sequence returns the indices of the nodes of a rank, each after those that it waits for. If nodes wait for each
// other, it adds a fault and returns none.
func (c *chakra) sequence(r *chakraRank) (order []int) {
	waiting, next := make([]int, len(r.nodes)), make([][]int, len(r.nodes))
	for i := range r.nodes {
		for _, id := range r.nodes[i].deps {
			k := r.index(id)
			waiting[i]++
			next[k] = append(next[k], i)
		}
	}
	for i, n := range waiting {
		if n == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, i := range next[order[at]] {
			if waiting[i]--; waiting[i] == 0 {
				order = append(order, i)
			}
		}
	}
	if len(order) < len(r.nodes) {
		c.cycle(r, waiting)
		return nil
	}
	return order
}

// cycle reports nodes that wait for each other, of those that wait in vain.
func (c *chakra) cycle(r *chakraRank, waiting []int) {
	i := slices.IndexFunc(waiting, func(n int) bool { return n > 0 })
	var path []int
	seen := map[int]bool{}
	for !seen[i] {
		seen[i] = true
		path = append(path, i)
		for _, id := range r.nodes[i].deps {
			if k := r.index(id); waiting[k] > 0 {
				i = k
				break
			}
		}
	}
	path = path[slices.Index(path, i):]
	var names []string
	for _, k := range path[:min(len(path), 8)] {
		names = append(names, fmt.Sprint(r.nodes[k].id))
	}
	c.at(r, r.nodes[i].id, "%d nodes wait for each other: %s", len(path), strings.Join(names, ", "))
}

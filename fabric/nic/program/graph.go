package program

import "slices"

// graph is the steps of a program with those that depend on them: those that wait for step i are
// next[first[i]:first[i+1]], each as the Condition on i with the number of the waiting step instead.
type graph struct {
	first []uint32
	next  []Condition
}

// dependents returns the graph of a program, and the number of conditions of each step.
func dependents(p *Program) (g graph, waiting []int32) {
	n := p.Len()
	g = graph{first: make([]uint32, n+1), next: make([]Condition, len(p.conditions))}
	waiting = make([]int32, n)
	for _, c := range p.conditions {
		g.first[c.Step()+1]++
	}
	for i := range n {
		g.first[i+1] += g.first[i]
	}
	fill := append([]uint32(nil), g.first...)
	for i := range n {
		for _, c := range p.Conditions(i) {
			waiting[i]++
			to := Done(i)
			if c.Begun() {
				to = Begun(i)
			}
			g.next[fill[c.Step()]] = to
			fill[c.Step()]++
		}
	}
	return g, waiting
}

// of returns the steps that wait for a step.
func (g *graph) of(step int) []Condition { return g.next[g.first[step]:g.first[step+1]] }

// Cycle returns steps that wait for each other, each for the one before it and the first for the last.
// It returns none if every step can run, provided that all messages arrive.
func (p *Program) Cycle() []int {
	g, waiting := dependents(p)
	var free []int
	for i, n := range waiting {
		if n == 0 {
			free = append(free, i)
		}
	}
	ran := len(free)
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, c := range g.of(i) {
			if waiting[c.Step()]--; waiting[c.Step()] == 0 {
				free = append(free, c.Step())
				ran++
			}
		}
	}
	if ran == p.Len() {
		return nil
	}
	return p.around(waiting)
}

// around returns a cycle among the steps that wait in vain.
func (p *Program) around(waiting []int32) []int {
	i := 0
	for waiting[i] == 0 {
		i++
	}
	var path []int
	at := map[int]int{}
	for {
		if start, seen := at[i]; seen {
			cycle := path[start:]
			for a, b := 0, len(cycle)-1; a < b; a, b = a+1, b-1 {
				cycle[a], cycle[b] = cycle[b], cycle[a]
			}
			return cycle
		}
		at[i] = len(path)
		path = append(path, i)
		for _, c := range p.Conditions(i) {
			if waiting[c.Step()] > 0 {
				i = c.Step()
				break
			}
		}
	}
}

// Begun returns the steps that have begun, in their order, if those for which done is true are done: those
// whose conditions are met.
func (p *Program) Begun(done func(step int) bool) (list []int) {
	begun := make([]bool, p.Len())
	met := func(c Condition) bool { return done(c.Step()) || c.Begun() && begun[c.Step()] }
	g, _ := dependents(p)
	var look func(i int)
	look = func(i int) {
		if begun[i] || slices.ContainsFunc(p.Conditions(i), func(c Condition) bool { return !met(c) }) {
			return
		}
		begun[i] = true
		for _, c := range g.of(i) {
			if c.Begun() {
				look(c.Step())
			}
		}
	}
	for i := range begun {
		look(i)
	}
	for i, b := range begun {
		if b {
			list = append(list, i)
		}
	}
	return list
}

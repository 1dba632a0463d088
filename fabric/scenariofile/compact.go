package scenariofile

import (
	"reflect"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Entries of a file that describe many objects at once, so that the file of a rack of
// thousands of nodes is short.

// writeNodes puts the nodes into their sections. Consecutive nodes of one kind with the
// same settings share an entry.
func writeNodes(s *topology.Scenario, into sections) {
	for i := 0; i < len(s.Nodes); {
		first, names := &s.Nodes[i], []string(nil)
		for ; i < len(s.Nodes) && sameNode(first, &s.Nodes[i]); i++ {
			names = append(names, s.Nodes[i].Name)
		}
		n, node := into[nodeSections[first.Kind]], asGiven(*first)
		n.Content = append(n.Content, text(topology.JoinNames(names)), written(nodeFields[first.Kind], &node))
	}
}

// asGiven returns a node without the values that follow from the flows and commands: they follow again when the file
// is read.
func asGiven(n topology.Node) topology.Node {
	if n.Switch.OpenAge {
		n.Switch.RTTX.Age = 0
	}
	if n.Switch.OpenStamp {
		n.Switch.RTTX.Stamp = ""
	}
	return n
}

// sameNode reports whether two nodes differ only in name and address.
func sameNode(a, b *topology.Node) bool {
	return a.Kind == b.Kind && reflect.DeepEqual(&a.NIC, &b.NIC) && reflect.DeepEqual(&a.Switch, &b.Switch)
}

// linkForms returns the links as entries of a file. Consecutive links with the same
// settings share an entry if they have one end in common, or both.
func linkForms(s *topology.Scenario) (forms []linkForm) {
	for i := 0; i < len(s.Links); {
		first, last := s.Links[i], i+1
		same := func(as func(topology.Link) bool) {
			for last < len(s.Links) && sameLink(first, s.Links[last]) && as(s.Links[last]) {
				last++
			}
		}
		form := linkForm{parts: 1, Link: first}
		between := func(l topology.Link) bool { return l.A == first.A && l.B == first.B }
		if first.Parallel > 0 || i+1 < len(s.Links) && between(s.Links[i+1]) {
			same(between)
			form.parallel = last - i
		} else {
			same(func(l topology.Link) bool { return l.A == first.A && l.Parallel == 0 })
			if last == i+1 {
				same(func(l topology.Link) bool { return l.B == first.B && l.Parallel == 0 })
			}
		}
		form.ends = [2][]string{{s.Nodes[first.A].Name}, {s.Nodes[first.B].Name}}
		for _, l := range s.Links[i+1 : last] {
			if l.A != first.A {
				form.ends[0] = append(form.ends[0], s.Nodes[l.A].Name)
			} else if l.B != first.B {
				form.ends[1] = append(form.ends[1], s.Nodes[l.B].Name)
			}
		}
		forms = append(forms, form)
		i = last
	}
	return forms
}

// sameLink reports whether two links have the same settings.
func sameLink(a, b topology.Link) bool {
	b.A, b.B, b.APort, b.BPort, b.Parallel = a.A, a.B, a.APort, a.BPort, a.Parallel
	return a == b
}

// flowForms returns the single flows as entries of a file. Consecutive flows called
// name-sender share an entry, as they do where an entry has several senders.
func flowForms(s *topology.Scenario) (forms []flowForm) {
	shared := ""                        // name under which the last entry takes more flows, or ""
	var senders, receivers map[int]bool // of the last entry
	for _, f := range s.Flows {
		if f.Burst >= 0 {
			continue
		}
		from, to := s.Nodes[f.From].Name, s.Nodes[f.To].Name
		name, ok := strings.CutSuffix(f.Name, "-"+from)
		ok = ok && topology.ValidName(name)
		k := len(forms) - 1
		switch {
		case ok && name == shared && sameFlow(forms[k].Flow, f) && !senders[f.From] && !receivers[f.To]:
			forms[k].Name, forms[k].from, forms[k].to = name, append(forms[k].from, from), append(forms[k].to, to)
		case ok:
			shared, senders, receivers = name, map[int]bool{}, map[int]bool{}
			forms = append(forms, flowForm{f, []string{from}, []string{to}})
		default:
			shared = ""
			forms = append(forms, flowForm{f, []string{from}, []string{to}})
			continue
		}
		senders[f.From], receivers[f.To] = true, true
	}
	return forms
}

// sameFlow reports whether two flows differ only in name, ends and source port.
func sameFlow(a, b topology.Flow) bool {
	b.Name, b.From, b.To, b.Source, b.Step = a.Name, a.From, a.To, a.Source, a.Step
	return reflect.DeepEqual(&a, &b)
}

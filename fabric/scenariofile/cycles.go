package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
)

// checkCycles checks that no steps wait for each other: those of each host, and if hosts can wait for each other,
// those of all hosts together.
func (b *builder) checkCycles() {
	if !b.interlocks() {
		for i := range b.hosts {
			host := &b.hosts[i]
			b.faultCycle(b.s.Steps[i].Cycle(), func(step int) place { return host.places[step] })
		}
		return
	}
	all, places := b.joined()
	b.faultCycle(all.Cycle(), func(step int) place { return places[step] })
}

// interlocks reports whether hosts may wait for each other in a cycle: for flows, messages of programs, or
// collectives of which one waits for another. The messages of a collective alone do not.
func (b *builder) interlocks() bool {
	if len(b.flowSteps.arrivals) > 0 || slices.ContainsFunc(b.s.Collectives, func(c topology.Collective) bool { return len(c.After) > 0 }) {
		return true
	}
	for i := range b.s.Steps {
		for k := range b.s.Steps[i].Len() {
			if s := b.s.Steps[i].At(k); s.Kind == program.Receive && s.Tag <= maxTag {
				return true
			}
		}
	}
	return false
}

// faultCycle reports steps that wait for each other, if there are any.
func (b *builder) faultCycle(cycle []int, of func(step int) place) {
	lines := map[place]bool{}
	var first place
	for _, step := range cycle {
		p := of(step)
		if len(lines) == 0 || p.line < first.line {
			first = p
		}
		lines[p] = true
	}
	if len(lines) > 0 {
		b.fault(first, "steps on %d lines wait for each other, this one is the first", len(lines))
	}
}

// joined returns the steps of all hosts as one program, and their places. An Arrival waits for its Transfer, and
// a Receive for the Send of its message if only that one can be it. These are done at a further step each, because
// a step that waits only for their beginning does not wait for another host.
func (b *builder) joined() (all program.Program, places []place) {
	base := make([]int, len(b.hosts))
	n := 0
	for i := range b.hosts {
		base[i] = n
		n += b.s.Steps[i].Len()
		places = append(places, b.hosts[i].places...)
	}
	others := b.others(base)
	ends := make(map[int]int, len(others)) // the further steps
	for i, o := range others {
		ends[o.step] = n + i
	}
	for i := range b.s.Steps {
		h := &b.s.Steps[i]
		for k := range h.Len() {
			var after []program.Condition
			for _, c := range h.Conditions(k) {
				to := base[i] + c.Step()
				if end, ok := ends[to]; ok && !c.Begun() {
					to = end
				}
				after = append(after, program.Begun(to))
			}
			all.Add(*h.At(k), after...)
		}
	}
	for _, o := range others {
		all.Add(program.Step{Kind: program.Calc}, program.Begun(o.step), program.Begun(o.other))
		places = append(places, places[o.step])
	}
	return all, places
}

// otherHost is a step that is done only once a step of another host has begun.
type otherHost struct{ step, other int }

// others lists the steps that wait for other hosts. base has the number of the first step of each host.
func (b *builder) others(base []int) (list []otherHost) {
	senders := b.onlySenders(base)
	for i := range b.s.Steps {
		h := &b.s.Steps[i]
		for k := range h.Len() {
			switch s := h.At(k); s.Kind {
			case program.Arrival:
				from := b.hostOf[int(s.Peer)]
				list = append(list, otherHost{base[i] + k, base[from] + b.flowSteps.transfers[int(s.Flow)]})
			case program.Receive:
				if send, ok := senders[message{int(s.Peer), h.Node, tagOf(s)}]; ok {
					list = append(list, otherHost{base[i] + k, send})
				}
			default:
			}
		}
	}
	return list
}

// onlySenders returns the numbers of the steps that send a message, if no other message has its hosts and tag. base
// has the number of the first step of each host.
func (b *builder) onlySenders(base []int) map[message]int {
	senders, several := map[message]int{}, map[message]bool{}
	for i := range b.s.Steps {
		h := &b.s.Steps[i]
		for k := range h.Len() {
			if s := h.At(k); s.Kind == program.Send {
				m := message{h.Node, int(s.Peer), int64(s.Tag)}
				_, several[m] = senders[m]
				senders[m] = base[i] + k
			}
		}
	}
	for m, twice := range several {
		if twice {
			delete(senders, m)
		}
	}
	return senders
}

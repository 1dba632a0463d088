package scenariofile

import "github.com/rackfab/rackfab/fabric/nic/program"

// checkCycles checks that no steps wait for each other: those of each host, and if hosts wait for flows of others,
// those of all hosts together.
func (b *builder) checkCycles() {
	if len(b.flowSteps.arrivals) == 0 {
		for i := range b.hosts {
			host := &b.hosts[i]
			b.faultCycle(b.s.Steps[i].Cycle(), func(step int) place { return host.places[step] })
		}
		return
	}
	all, places := b.joined()
	b.faultCycle(all.Cycle(), func(step int) place { return places[step] })
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
// a Receive for the Send of its message if only that one can be it.
func (b *builder) joined() (all program.Program, places []place) {
	base := make([]int, len(b.hosts))
	n := 0
	for i := range b.hosts {
		base[i] = n
		n += b.s.Steps[i].Len()
		places = append(places, b.hosts[i].places...)
	}
	senders := b.onlySenders(base)
	for i := range b.s.Steps {
		h := &b.s.Steps[i]
		for k := range h.Len() {
			var after []program.Condition
			for _, c := range h.Conditions(k) {
				after = append(after, conditionOn(base[i]+c.Step(), c.Begun()))
			}
			switch s := h.At(k); s.Kind {
			case program.Arrival:
				from := b.hostOf[int(s.Peer)]
				after = append(after, program.Begun(base[from]+b.flowSteps.transfers[int(s.Flow)]))
			case program.Receive:
				if send, ok := senders[message{int(s.Peer), h.Node, tagOf(s)}]; ok {
					after = append(after, program.Begun(send))
				}
			default:
			}
			all.Add(*h.At(k), after...)
		}
	}
	return all, places
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

package program

import "github.com/rackfab/rackfab/fabric"

// arrivals has the flows of other hosts that the steps of a program wait for.
type arrivals map[fabric.FlowID]arrival

// arrival is a flow, and its step.
type arrival struct {
	step         int32
	begun, whole bool // the step has begun; the flow has arrived whole
}

// newArrivals returns the flows that the program waits for; nil if there are none.
func newArrivals(p *Program) (a arrivals) {
	for i := range p.steps {
		if s := &p.steps[i]; s.Kind == Arrival {
			if a == nil {
				a = arrivals{}
			}
			a[s.Flow] = arrival{step: int32(i)}
		}
	}
	return a
}

// await begins the step of a flow. It returns true if the flow has arrived.
func (a arrivals) await(flow fabric.FlowID) bool {
	k := a[flow]
	k.begun = true
	a[flow] = k
	return k.whole
}

// arrive records that a flow has arrived whole. It returns its step, and false if there is none that has
// begun.
func (a arrivals) arrive(flow fabric.FlowID) (step int, ok bool) {
	k, awaited := a[flow]
	if !awaited {
		return 0, false
	}
	k.whole = true
	a[flow] = k
	return int(k.step), k.begun
}

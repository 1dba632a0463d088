package nic

import "github.com/rackfab/rackfab/fabric/unit"

// The scheduler picks the flow that sends next. Flows take turns, one frame each,
// once their pacer's instant has come:
//
//	           wake                admit: its instant has come
//	PARKED ------------> PACING ------------------------> WAITING
//	   ^                  (pace)                           (ready)
//	   +---------------------------------------------------+
//	                       pick: it is its turn

// wake lets flow i compete again if it has something to send.
func (n *NIC) wake(i int) {
	s := &n.senders[i]
	if s.place == parked && s.pending() && n.funded(i) {
		s.place = pacing
		n.pace.Set(i, s.pacer.next())
	}
}

// admit queues the flows whose instant has come, in its order.
func (n *NIC) admit(now unit.Time) {
	for {
		i, at := n.pace.First()
		if at > now {
			return
		}
		n.pace.Set(i, unit.Never)
		n.senders[i].place = waiting
		n.ready.push(int32(i))
	}
}

// pick takes out the flow whose turn it is, false if there is none.
func (n *NIC) pick() (int, bool) {
	for n.ready.count > 0 {
		i := int(n.ready.pop())
		n.senders[i].place = parked
		if n.senders[i].pending() && n.funded(i) {
			return i, true
		}
	}
	return 0, false
}

// dataDue gives the instant from which on a flow may send, if PAUSE and the link
// let it; 0 if one waits already.
func (n *NIC) dataDue() unit.Time {
	if n.ready.count > 0 {
		return 0
	}
	_, at := n.pace.First()
	return at
}

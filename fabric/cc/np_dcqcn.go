package cc

import "github.com/rackfab/rackfab/fabric/unit"

// DCQCNNotifier is the notification point of one flow (DCQCN §3.1 and fig. 6):
//
//	        marked packet: CNP at once
//	+-----+ ---------------------------> +---------+ --+ interval over, marked
//	| OFF |                              | RUNNING |   | packets in it: CNP
//	+-----+ <--------------------------- +---------+ <-+
//	        interval over without one
//
// A clocked one (ns3-rdma) is in RUNNING from the flow's first packet on, which it
// answers at once if it is marked, until an interval has had no packet at all.
type DCQCNNotifier struct {
	interval unit.Time
	clocked  bool
	due      unit.Time // end of the interval
	running  bool
	seen     bool // a packet in the interval
	marked   bool // one of them was
}

// NewDCQCNNotifier makes the notification point of a flow. p is valid.
func NewDCQCNNotifier(p DCQCNParams) DCQCNNotifier {
	return DCQCNNotifier{interval: p.CNPInterval, clocked: p.CNPClocked}
}

// Packet takes note of a data packet, marked if it has experienced congestion
// (CE), and tells whether a CNP goes out for it at once.
func (n *DCQCNNotifier) Packet(now unit.Time, marked bool) bool {
	if n.running && (n.clocked || now < n.due) {
		n.seen, n.marked = true, n.marked || marked
		return false
	}
	if marked || n.clocked {
		n.running, n.due, n.seen, n.marked = n.interval > 0, now+n.interval, false, false
	}
	return marked
}

// Tick ends the interval and tells whether a CNP goes out; false if the interval
// is not over.
func (n *DCQCNNotifier) Tick(now unit.Time) bool {
	if !n.running || now < n.due {
		return false
	}
	send := n.marked
	n.running, n.due = send || n.clocked && n.seen, n.due+n.interval
	n.seen, n.marked = false, false
	return send
}

// Next names the end of the interval, false while the timer is stopped.
func (n *DCQCNNotifier) Next() (unit.Time, bool) { return n.due, n.running }

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
// The zero value waits with an interval of 0: every marked packet makes a CNP.
type DCQCNNotifier struct {
	interval unit.Time
	due      unit.Time // end of the interval
	running  bool
	marked   bool // a packet in the interval was
}

// NewDCQCNNotifier makes the notification point of a flow. p is valid.
func NewDCQCNNotifier(p DCQCNParams) DCQCNNotifier { return DCQCNNotifier{interval: p.CNPInterval} }

// Marked takes note of a data packet that has experienced congestion (CE), and
// tells whether a CNP goes out for it at once.
func (n *DCQCNNotifier) Marked(now unit.Time) bool {
	if n.running && now < n.due {
		n.marked = true
		return false
	}
	n.running, n.due, n.marked = n.interval > 0, now+n.interval, false
	return true
}

// Tick ends the interval and tells whether a CNP goes out; false if the interval
// is not over.
func (n *DCQCNNotifier) Tick(now unit.Time) bool {
	if !n.running || now < n.due {
		return false
	}
	n.running, n.due = n.marked, n.due+n.interval
	send := n.marked
	n.marked = false
	return send
}

// Next names the end of the interval, false while the timer is stopped.
func (n *DCQCNNotifier) Next() (unit.Time, bool) { return n.due, n.running }

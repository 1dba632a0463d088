package cc

import "github.com/rackfab/rackfab/fabric/unit"

// DCQCNNotifier is the notification point of one flow (DCQCN §3.1 and fig. 6):
//
//	        marked packet: CNP at once
//	+-----+ ---------------------------> +---------+ --+ interval over, marked
//	| OFF |                              | RUNNING |   | packets in it: CNP
//	+-----+ <--------------------------- +---------+ <-+
//	        interval over, no marked packet
//
// A clocked notifier (ns3-rdma) enters RUNNING at the flow's first packet and
// sends a CNP at once if that packet is marked. It stays there until an
// interval passes without any packet.
type DCQCNNotifier struct {
	interval unit.Time
	clocked  bool
	due      unit.Time // end of the interval
	running  bool
	seen     bool // a packet arrived in the interval
	marked   bool // a marked packet arrived in the interval
}

// NewDCQCNNotifier returns the notification point of a flow. p must be valid.
func NewDCQCNNotifier(p DCQCNParams) DCQCNNotifier {
	return DCQCNNotifier{interval: p.CNPInterval, clocked: p.CNPClocked}
}

// Packet records a data packet, marked if it has experienced congestion (CE).
// It reports whether a CNP must be sent at once.
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

// Tick ends the interval if it is over, and reports whether a CNP must be sent.
func (n *DCQCNNotifier) Tick(now unit.Time) bool {
	if !n.running || now < n.due {
		return false
	}
	send := n.marked
	n.running, n.due = send || n.clocked && n.seen, n.due+n.interval
	n.seen, n.marked = false, false
	return send
}

// Next returns the end of the interval, or false while the timer is stopped.
func (n *DCQCNNotifier) Next() (unit.Time, bool) { return n.due, n.running }

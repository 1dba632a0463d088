package cc

import "github.com/rackfab/rackfab/fabric/unit"

// PCNReport is what a notification point of PCN tells the sender of a flow.
type PCNReport struct {
	Congested bool
	RecRate   unit.Rate // at which the flow is received
}

// PCNNotifier is the notification point of one flow (PCN §5.2). It judges the
// flow once in a period T, free-running from the flow's first packet:
//
//	        first packet: due := now + T
//	+-----+ ---------------------------> +---------+ --+ T over: report, clear
//	| OFF |                              | RUNNING |   | the counters,
//	+-----+ <--------------------------- +---------+ <-+ due := due + T
//	        T over without a packet
//
// A packet at the very end of a period belongs to the period that ends.
type PCNNotifier struct {
	period    unit.Time
	threshold float64

	due     unit.Time // end of the period
	running bool
	packets int64
	marked  int64
	bytes   unit.Bytes
	last    unit.Time // of the flow's latest packet
	gap     unit.Time // between its two latest packets
	seen    bool      // the flow has had a packet
}

// NewPCNNotifier makes the notification point of a flow. p is valid.
func NewPCNNotifier(p PCNParams) PCNNotifier {
	return PCNNotifier{period: p.Period, threshold: p.Threshold}
}

// Packet takes note of a data packet of bytes on the wire. marked says that it
// has experienced congestion (CE).
func (n *PCNNotifier) Packet(now unit.Time, bytes unit.Bytes, marked bool) {
	if !n.running {
		n.running, n.due = true, now+n.period
	}
	if n.seen {
		n.gap = now - n.last
	}
	n.seen, n.last = true, now
	n.packets++
	n.bytes += bytes
	if marked {
		n.marked++
	}
}

// Tick ends the period. It is false when there is nothing to report: when the
// period is not over, or had no packet, which also stops the timer until the
// flow's next packet.
func (n *PCNNotifier) Tick(now unit.Time) (PCNReport, bool) {
	if !n.running || now < n.due {
		return PCNReport{}, false
	}
	n.due += n.period
	if n.packets == 0 {
		n.running = false
		return PCNReport{}, false
	}
	// A slow flow: the time between two packets counts if it exceeds T.
	r := PCNReport{Congested: n.congested(), RecRate: unit.Over(n.bytes, max(n.period, n.gap))}
	n.packets, n.marked, n.bytes = 0, 0, 0
	return r, true
}

// congested is the rule of 95 % (PCN §5.2), taken as "at least".
func (n *PCNNotifier) congested() bool {
	return float64(n.marked) >= n.threshold*float64(n.packets)
}

// Next names the end of the period, false while the timer is stopped.
func (n *PCNNotifier) Next() (unit.Time, bool) { return n.due, n.running }

package cc

import "github.com/rackfab/rackfab/fabric/unit"

// PCNReport is the content of a CNP from PCN's notification point to the sender
// of a flow.
type PCNReport struct {
	Congested bool
	RecRate   unit.Rate // receiving rate of the flow
}

// PCNNotifier is the notification point of one flow (PCN §5.2). It classifies
// the flow once per period T, which runs freely from the flow's first packet
// on:
//
//	        first packet: due := now + T
//	+-----+ ---------------------------> +---------+ --+ T over: report, clear
//	| OFF |                              | RUNNING |   | the counters,
//	+-----+ <--------------------------- +---------+ <-+ due := due + T
//	        T over without a packet
//
// A packet that arrives exactly at the end of a period belongs to that period.
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

// NewPCNNotifier returns the notification point of a flow. p must be valid.
func NewPCNNotifier(p PCNParams) PCNNotifier {
	return PCNNotifier{period: p.Period, threshold: p.Threshold}
}

// Packet records a data packet of bytes on the wire. marked reports whether it
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

// Tick ends the period and returns its report. It returns false if the period
// is not over or had no packet. A period without packets also stops the timer
// until the flow's next packet.
func (n *PCNNotifier) Tick(now unit.Time) (PCNReport, bool) {
	if !n.running || now < n.due {
		return PCNReport{}, false
	}
	n.due += n.period
	if n.packets == 0 {
		n.running = false
		return PCNReport{}, false
	}
	// If two packets of a slow flow are more than T apart, that gap counts
	// instead of T.
	r := PCNReport{Congested: n.congested(), RecRate: unit.Over(n.bytes, max(n.period, n.gap))}
	n.packets, n.marked, n.bytes = 0, 0, 0
	return r, true
}

// congested applies the 95 % rule (PCN §5.2), read as "at least".
func (n *PCNNotifier) congested() bool {
	return float64(n.marked) >= n.threshold*float64(n.packets)
}

// Next returns the end of the period, or false while the timer is stopped.
func (n *PCNNotifier) Next() (unit.Time, bool) { return n.due, n.running }

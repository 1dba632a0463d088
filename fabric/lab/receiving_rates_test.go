package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// PCN-64: While a port is congested, the receiving rates of all its flows add up to the capacity of its link,
// whoever they are and however many: to 2 % on average, in each period but for a packet per flow.
func TestReceivingRatesAddUpToTheCapacity(t *testing.T) {
	const period, begin = 50 * unit.Microsecond, 400 * unit.Microsecond // two periods after the burst
	const capacity, packet = 40_000, 175                                // Mbit/s; that of a packet in a period
	text, _ := scenariofile.Builtin("pcn-16to2")
	for _, c := range []struct{ from, flows, at string }{
		{"h2..h15", "16", "300us"}, {"h2..h15", "1", "317us"}, {"h4..h6", "5", "338us"}, {"h2, h9", "40", "291us"},
	} {
		s, err := scenariofile.ParseWith("pcn-16to2", text, []topology.Setting{
			{Key: "scheme", Value: "pcn"},
			{Key: "duration", Value: "1500us"},
			{Key: "burst.at", Value: c.at},
			{Key: "burst.from", Value: c.from},
			{Key: "burst.flows_per_sender", Value: c.flows},
			{Key: "burst.size", Value: "2MB"}, // the burst outlasts the run
		})
		if err != nil {
			t.Fatal(err)
		}
		l, receiver := newLab(t, s), nodeNamed(s, "r1")
		sums := make([]int, (s.Duration-begin)/period) // Mbit/s
		l.Hear([]fabric.Kind{fabric.Notified}, func(node int, notes []fabric.Note) {
			for _, n := range notes {
				if node == receiver && n.At >= begin {
					sums[(n.At-begin)/period] += int(n.RecRate())
				}
			}
		})
		l.Run(s.Duration)
		all := 0
		for i, sum := range sums {
			if all += sum; sum < capacity-len(s.Flows)*packet || sum > capacity+len(s.Flows)*packet {
				t.Errorf("%v: %d Mbit/s in period %d", c, sum, i)
			}
		}
		if mean := all / len(sums); mean < capacity*98/100 || mean > capacity*102/100 {
			t.Errorf("%v: %d Mbit/s", c, mean)
		}
	}
}

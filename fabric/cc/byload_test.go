package cc

import (
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// loadPath is the load of hops of 100 Gbit/s, as ACKs echo it.
type loadPath struct {
	now   unit.Time
	loads Loads
}

func newLoadPath(hops int) loadPath {
	p := loadPath{loads: Loads{Count: hops}}
	for i := range p.loads.Hops[:hops] {
		p.loads.Hops[i] = HopLoad{Rate: 100 * gbps}
	}
	return p
}

// after lets a time pass, in which hop j sends at a share of its rate and ends with a queue. It
// returns an ACK of 1000 bytes at that time. A packet in flight remains, so that every second ACK
// ends an RTT.
func (p *loadPath) after(span unit.Time, j int, share float64, queue unit.Bytes) (unit.Time, Signal) {
	p.now += span
	for i := range p.loads.Hops[:p.loads.Count] {
		p.loads.Hops[i].At += uint32(span / unit.Nanosecond)
	}
	h := &p.loads.Hops[j]
	h.Sent += uint32(math.Round(share * bdp(float64(h.Rate), span)))
	h.Queue = queue
	return p.now, Signal{Kind: Ack, Bytes: 1000, InFlight: 1000, Load: &p.loads}
}

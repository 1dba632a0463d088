package qp

import "github.com/rackfab/rackfab/fabric/unit"

// flight is what a requester remembers of a packet in flight.
type flight struct {
	sent  unit.Time // of the latest transmission
	due   unit.Time // end of its timeout
	sends uint8     // number of transmissions, at most manySends
}

// manySends stands for that number of transmissions and more.
const manySends = 3

// flights holds the flights of a window of packets: a circle by packet number.
type flights struct{ ring []flight } // a power of two of them, or none

// of returns the flight of a packet of the window.
func (f *flights) of(n int64) *flight { return &f.ring[int(n)&(len(f.ring)-1)] }

// begin adds a packet that is sent for the first time. The window begins at oldest.
func (f *flights) begin(n, oldest int64, now, due unit.Time) {
	if n-oldest >= int64(len(f.ring)) {
		old := *f
		f.ring = make([]flight, max(64, 2*len(old.ring)))
		for i := oldest; i < n; i++ {
			*f.of(i) = *old.of(i)
		}
	}
	*f.of(n) = flight{now, due, 1}
}

// again counts another transmission.
func (f *flights) again(n int64, now, due unit.Time) {
	k := f.of(n)
	k.sent, k.due, k.sends = now, due, min(k.sends+1, manySends)
}

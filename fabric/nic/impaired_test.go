package nic

import (
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// impairment loses and delays frames at random.
type impairment struct {
	loss, delayed int       // percent of the frames
	late          unit.Time // delays are shorter
	state         uint64
}

// drawImpairment draws up to 30 percent of losses, and up to the given percent of delays.
func drawImpairment(t *rapid.T, delayed int, late unit.Time) *impairment {
	return &impairment{
		loss: rapid.IntRange(0, 30).Draw(t, "loss"), delayed: rapid.IntRange(0, delayed).Draw(t, "delayed"), late: late,
		state: rapid.Uint64().Draw(t, "seed"),
	}
}

func (k *impairment) chance(percent int) bool {
	k.state = k.state*6364136223846793005 + 1442695040888963407
	return int(k.state>>33%100) < percent
}

// tap impairs a frame.
func (k *impairment) tap(_ int, f *frame.Frame) bool {
	if k.chance(k.delayed) {
		f.Arrival += unit.Time(k.state>>40%uint64(k.late/us)) * us
	}
	return !k.chance(k.loss)
}

// deliversOnce runs the bench, impaired, and fails unless all flows of host 0 complete and the payload of each is
// delivered once.
func (b *fabricBench) deliversOnce(t *rapid.T, flows []FlowConfig, k *impairment) {
	b.tap = k.tap
	b.run(3 * unit.Second)
	for i, s := range b.nics[0].Stats().Senders {
		r := b.nics[1].Stats().Receivers[i]
		if size := flows[i].Size; !s.Completed || s.AckedBytes != size || r.DeliveredBytes != size || s.InFlightBytes != 0 {
			t.Fatalf("flow %d of %v: %+v, %+v", i, size, s, r)
		}
	}
}

// resent returns the number of packets that host 0 has sent again.
func (b *fabricBench) resent() (packets uint64) {
	for _, s := range b.nics[0].Stats().Senders {
		packets += s.RetransmittedPackets
	}
	return packets
}

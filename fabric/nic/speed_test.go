package nic

import (
	"fmt"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// backToBack drives two NICs on one link. Its only queue is the frames in flight.
type backToBack struct {
	nics  [2]*NIC
	inbox [2]ring.Ring[frame.Frame]
	out   fabric.Out
	mark  bool // marks every other data frame and writes a hop into it
	count int
}

func newBackToBack(t testing.TB, flows int, change func(*Config)) *backToBack {
	var cfg []FlowConfig
	for i := range flows {
		cfg = append(cfg, flow(fabric.FlowID(i), Endless))
	}
	b := &backToBack{out: fabric.Out{Quiet: true, Pool: new(frame.Pool)}}
	for host := range b.nics {
		b.nics[host] = mustNew(t, config(host, cfg, change, func(c *Config) { c.Timeout, c.AckEvery = unit.Millisecond, 4 }))
	}
	return b
}

// step handles one event and returns the number of frames sent.
func (b *backToBack) step() int {
	host, at, arrival := 0, unit.Never, false
	for h := range b.nics {
		if q := &b.inbox[h]; q.Len() > 0 && q.Front().Arrival <= at {
			host, at, arrival = h, q.Front().Arrival, true
		}
		if own, ok := b.nics[h].Next(); ok && own < at {
			host, at, arrival = h, own, false
		}
	}
	b.out.Reset()
	if arrival {
		q := &b.inbox[host]
		b.nics[host].Arrive(at, 0, q.Front(), &b.out)
		q.Drop(1)
	} else {
		b.nics[host].Tick(at, &b.out)
	}
	for i := range b.out.Sends {
		if f := b.out.Sends[i].Frame; b.mark && isData(f) {
			f.PushHop(&frame.Hop{Depth: 100_000}, 1500)
			if b.count++; b.count%2 == 0 {
				f.SetECN(frame.CE)
			}
		}
		b.inbox[1-host].Push(*b.out.Sends[i].Frame)
	}
	return len(b.out.Sends)
}

// The machine allocates nothing in the steady state.
func TestNoAllocations(t *testing.T) {
	b := newBackToBack(t, 300, pcn)
	for range 200_000 {
		b.step()
	}
	if got := testing.AllocsPerRun(100, func() {
		for range 1000 {
			b.step()
		}
	}); got != 0 {
		t.Errorf("%v allocations per 1000 events", got)
	}
}

// BenchmarkNIC runs two NICs back to back under PCN; an operation is a frame.
func BenchmarkNIC(b *testing.B) {
	for _, flows := range []int{1, 16, 300} {
		b.Run(fmt.Sprintf("flows=%d", flows), func(b *testing.B) {
			pair := newBackToBack(b, flows, pcn)
			b.ReportAllocs()
			b.ResetTimer()
			for frames := 0; frames < b.N; {
				frames += pair.step()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

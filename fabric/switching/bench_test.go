package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// load drives a switch of 18 ports as in a 16-to-2 rack: sixteen ports take turns
// in sending to two, at exactly the rate that the two can transmit.
type load struct {
	s      *Switch
	out    fabric.Out
	frames [16]frame.Frame
	now    unit.Time
	n      int
}

func newLoad(tb testing.TB, cfg Config) *load {
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	l := &load{s: s, out: fabric.Out{Quiet: true, Pool: new(frame.Pool)}}
	for i := range l.frames {
		l.frames[i] = *from(2+i, data(i%2, uint32(i), lossless))
	}
	for range 4096 { // a queue of some frames, and rings grown to their size
		l.step()
	}
	return l
}

// loads are the switches under test. The one under QCN samples every second frame and
// answers it with a CNM.
func loads() map[string]Config {
	fifo, ingress, cp := rackConfig(18), rackConfig(18), qcnConfig(18)
	ingress.Arbitration = ArbitrateIngress
	cp.Classes[lossless].QCN = QCNConfig{SetPoint: 1, SampleBase: 2 * size}
	return map[string]Config{"fifo": fifo, "ingress": ingress, "qcn": cp}
}

// step passes one frame through: its arrival and the ticks before it.
func (l *load) step() {
	gap := slot / 2
	if l.n < 64 {
		gap = 0
	}
	l.now += gap
	l.out.Reset()
	l.catchUp()
	l.s.Arrive(l.now, fabric.Port(2+l.n%16), &l.frames[l.n%16], &l.out)
	l.n++
}

// catchUp handles everything that is due before now.
func (l *load) catchUp() {
	for {
		next, ok := l.s.Next()
		if !ok || next >= l.now {
			return
		}
		l.s.Tick(next, &l.out)
	}
}

// lost returns the number of frames that were not forwarded.
func (l *load) lost() (frames uint64) {
	for _, p := range l.s.Stats().Ports {
		frames += p.Classes[lossless].DroppedFrames
	}
	return frames
}

// BenchmarkSwitch measures one frame through Arrive, a queue and Tick.
func BenchmarkSwitch(b *testing.B) {
	for name, cfg := range loads() {
		b.Run(name, func(b *testing.B) {
			l := newLoad(b, cfg)
			b.ReportAllocs()
			for b.Loop() {
				l.step()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
			if l.lost() != 0 {
				b.Fatal("the load loses frames")
			}
		})
	}
}

// BenchmarkIdlePort measures one frame through Arrive alone.
func BenchmarkIdlePort(b *testing.B) {
	l := newLoad(b, rackConfig(18))
	b.ReportAllocs()
	l.now += unit.Millisecond
	l.catchUp()
	for b.Loop() {
		l.now += slot
		l.out.Reset()
		l.s.Arrive(l.now, 2, &l.frames[0], &l.out)
	}
	if l.lost() != 0 {
		b.Fatal("the load loses frames")
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for name, cfg := range loads() {
		t.Run(name, func(t *testing.T) { allocatesNothing(t, newLoad(t, cfg)) })
	}
}

func allocatesNothing(t *testing.T, l *load) {
	if got := testing.AllocsPerRun(10000, l.step); got != 0 {
		t.Errorf("a frame costs %v allocations", got)
	}
	l.out.Quiet = false
	l.step()
	if got := testing.AllocsPerRun(1000, l.step); got != 0 {
		t.Errorf("a frame with notes costs %v allocations", got)
	}
	f, g := pause(lossless, 100), pause(lossless, 0)
	pauses := func() {
		l.s.Arrive(l.now, 0, f, &l.out)
		l.s.Arrive(l.now, 0, g, &l.out)
		l.step()
	}
	pauses()
	if got := testing.AllocsPerRun(1000, pauses); got != 0 {
		t.Errorf("a pause costs %v allocations", got)
	}
}

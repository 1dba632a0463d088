package switching

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// standard are the managed objects' defaults, without jitter.
var standard = QCNConfig{SetPoint: 26000, Weight: 2, SampleBase: 150_000}

// Fb = -(Qoff + w Qdelta), Qoff = Q - Qeq, Qdelta = Q - Qold.
func TestQCNFeedback(t *testing.T) {
	for _, c := range []struct{ q, old, want unit.Bytes }{
		{26000, 26000, 0},       // at the set point, at rest
		{30000, 30000, -4000},   // above it
		{20000, 20000, 6000},    // below it
		{26000, 20000, -12000},  // growing
		{30000, 34000, 4000},    // above it, but shrinking fast enough
		{0, 0, 26000},           // empty
		{78000, 26000, -156000}, // 52000 above and grown by as much
	} {
		if got := standard.feedback(c.q, c.old); got != c.want {
			t.Errorf("Q = %d, Qold = %d: Fb = %d, want %d", c.q, c.old, got, c.want)
		}
	}
}

// QntzFb is 63 if Fb < -Qeq(2w+1), else -Fb * 63 / (Qeq(2w+1)): by hand, one step
// is 130000/63 = 2063.5 bytes.
func TestQCNQuantisation(t *testing.T) {
	for _, c := range []struct {
		fb   unit.Bytes
		want uint8
	}{
		{1, 0},
		{0, 0},
		{-2063, 0},
		{-2064, 1},
		{-4126, 1},
		{-4127, 2},
		{-65000, 31},
		{-66031, 31},
		{-66032, 32},
		{-127936, 61},
		{-129999, 62},
		{-130000, 63},
		{-1_000_000, 63},
	} {
		if got := standard.quantise(c.fb); got != c.want {
			t.Errorf("Fb = %d: %d, want %d", c.fb, got, c.want)
		}
	}
}

// The twin computes the feedback with integers of any size.
func TestQCNFeedbackAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := QCNConfig{
			SetPoint: unit.Bytes(rapid.Int64Range(1, 1e9).Draw(t, "set point")),
			Weight:   rapid.IntRange(0, 64).Draw(t, "weight"),
		}
		q, old := rapid.Int64Range(0, 1e9).Draw(t, "q"), rapid.Int64Range(0, 1e9).Draw(t, "old")
		growth := new(big.Int).Mul(big.NewInt(int64(cfg.Weight)), big.NewInt(q-old))
		congestion := growth.Add(growth, big.NewInt(q-int64(cfg.SetPoint)))
		most := new(big.Int).Mul(big.NewInt(int64(cfg.SetPoint)), big.NewInt(int64(2*cfg.Weight+1)))
		part := new(big.Rat).SetFrac(congestion.Mul(congestion, big.NewInt(63)), most)
		want := new(big.Int).Div(part.Num(), part.Denom()).Int64() // rounds down
		want = max(0, min(63, want))
		if got := cfg.quantise(cfg.feedback(unit.Bytes(q), unit.Bytes(old))); int64(got) != want {
			t.Fatalf("%+v, Q = %d, Qold = %d: %d, want %d", cfg, q, old, got, want)
		}
	})
}

// The interval between samples is {150, 75, 50, 37.5, 30, 25, 21.5, 18.5} KB by
// QntzFb/8.
func TestQCNSamplingTable(t *testing.T) {
	want := []unit.Bytes{150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500}
	random := rand.NewPCG(1, 2)
	for feedback := range uint8(64) {
		if got := standard.interval(feedback, random); got != want[feedback/8] {
			t.Errorf("feedback %d: %d bytes, want %d", feedback, got, want[feedback/8])
		}
	}
}

// The interval deviates by up to 15 % either way, uniformly, and only by the seed.
func TestQCNJitter(t *testing.T) {
	cfg := standard
	cfg.Jitter = 0.15
	a, b, c := rand.NewPCG(1, 3), rand.NewPCG(1, 3), rand.NewPCG(2, 3)
	const draws = 100_000
	least, most, sum, same := unit.Bytes(1<<40), unit.Bytes(0), unit.Bytes(0), 0
	for range draws {
		x := cfg.interval(0, a)
		if y := cfg.interval(0, b); x != y {
			t.Fatalf("one seed gives %d and %d", x, y)
		}
		if x == cfg.interval(0, c) {
			same++
		}
		least, most, sum = min(least, x), max(most, x), sum+x
	}
	if least < 127_500 || least > 127_600 || most > 172_500 || most < 172_400 {
		t.Errorf("from %d to %d, want 127500 to 172500", least, most)
	}
	if mean := sum / draws; mean < 149_790 || mean > 150_210 { // 5 sigma are 205
		t.Errorf("mean %d, want 150000", mean)
	}
	if same > 30 {
		t.Errorf("two seeds agree %d times", same)
	}
}

// qcnConfig returns rackConfig under QCN, with CNMs in the control class.
func qcnConfig(ports int) Config {
	cfg := rackConfig(ports)
	cfg.CNMClass = control
	cfg.Classes[lossless].Marking = cc.MarkQCN
	cfg.Classes[lossless].QCN = standard
	cfg.Classes[lossless].XOFF = 500 * size
	return cfg
}

// from returns the frame as the host sends it.
func from(host int, f *frame.Frame) *frame.Frame {
	var p frame.Packet
	if err := p.Parse(f); err != nil {
		panic(err)
	}
	p.SrcMAC, p.DstMAC = frame.HostMAC(host), frame.HostMAC(p.Dst.Host())
	g := *f
	p.Build(&g)
	return &g
}

// cnms returns the parsed CNMs that left by the port.
func (r *rig) cnms(at fabric.Port) []frame.CNM {
	r.t.Helper()
	var all []frame.CNM
	for _, f := range r.leaving(at, frame.ClassCNM) {
		var c frame.CNM
		if err := c.Parse(&f); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// fill pauses port 0 and queues n frames of 1000 bytes from host 1 there.
func fill(t *testing.T, cfg Config, n int) *rig {
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for range n {
		f := from(1, data(0, 7, lossless))
		f.Trace = 42
		r.arrive(us, 1, f)
	}
	return r
}

// Qold is the queue at the previous sample, and the next interval follows from the
// feedback: the first one, 63, asks for 18500 bytes, then the queue grows by 19000.
func TestQCNSamplesAgain(t *testing.T) {
	r := fill(t, qcnConfig(3), 150+19)
	got := r.cnms(1)
	if len(got) != 1 {
		t.Fatalf("%d CNMs on the wire at once, want one in transmission", len(got))
	}
	r.run(2 * us)
	got = r.cnms(1)
	// Qoff = 143000, Qdelta = 19000.
	if len(got) != 2 || got[1].QDelta != 19_000/64 || got[1].QOffset != 143_000/64 || got[1].Feedback != 63 {
		t.Errorf("CNMs %+v", got)
	}
}

// At departure, the frame that completes 150000 bytes is sampled, and Q is the queue
// behind it.
func TestQCNSamplesDepartures(t *testing.T) {
	cfg := qcnConfig(3)
	cfg.Classes[lossless].QCN.AtDeparture = true
	r := fill(t, cfg, 200) // all wait
	r.run(2 * us)
	if got := r.notes(fabric.CNMSent); len(got) != 0 {
		t.Fatalf("sampled on arrival: %+v", got)
	}
	r.arrive(3*us, 0, pause(lossless, 0))
	r.run(3*us + 148*slot)
	if got := r.notes(fabric.CNMSent); len(got) != 0 {
		t.Fatalf("sampled with %d frames sent", len(r.sent(0)))
	}
	r.run(3*us + 149*slot)
	got := r.notes(fabric.CNMSent)
	want := fabric.Note{Event: fabric.NewCNMSent(60, 50_000), At: 3*us + 149*slot, Priority: lossless, Flow: 7, Trace: 42}
	if len(got) != 1 || got[0] != want { // |Fb| = 24000 + 2 * 50000, 60.09 steps of 2063.5
		t.Fatalf("noted %+v, want %+v", got, want)
	}
	r.run(3*us + 150*slot)
	if got := r.cnms(1); len(got) != 1 || got[0].Dst != frame.HostMAC(1) || got[0].QDelta != 50_000/64 {
		t.Errorf("CNMs %+v", got)
	}
}

// Without congestion no CNM is sent, and the next sample is 150000 bytes away again.
func TestQCNBelowTheSetPointIsSilent(t *testing.T) {
	r := newRig(t, qcnConfig(3))
	for i := range 500 { // each leaves before the next comes
		r.arrive(unit.Time(i)*slot, 1, from(1, data(0, 7, lossless)))
	}
	if got := r.notes(fabric.CNMSent); len(got) != 0 {
		t.Errorf("noted %+v", got)
	}
	if got := r.ports[0].qcn[lossless].left; got != 100_000 {
		t.Errorf("%d bytes to the next sample, want 100000", got)
	}
}

// The twin of the sampling adds up the lengths: the sample is the first frame that
// completes the interval.
func TestQCNSamplesByBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := unit.Bytes(rapid.IntRange(1, 5000).Draw(t, "interval"))
		point, sum := qcn{left: interval}, unit.Bytes(0)
		for range rapid.IntRange(1, 100).Draw(t, "frames") {
			length := unit.Bytes(rapid.IntRange(64, 1500).Draw(t, "length"))
			sum += length
			if got, want := point.pass(length), sum >= interval; got != want {
				t.Fatalf("sampled %v after %d of %d bytes", got, sum, interval)
			} else if got {
				point.left, sum = interval, 0
			}
		}
	})
}

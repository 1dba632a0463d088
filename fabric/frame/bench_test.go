package frame

import "testing"

var sink int

func BenchmarkClass(b *testing.B) {
	f := built(write(WriteMiddle))
	for b.Loop() {
		sink += int(f.Class())
	}
}

func BenchmarkLen(b *testing.B) {
	f := built(write(WriteMiddle))
	for b.Loop() {
		sink += int(f.Len())
	}
}

func BenchmarkBuild(b *testing.B) {
	p, f := write(WriteMiddle), new(Frame)
	for b.Loop() {
		p.Build(f)
	}
}

func BenchmarkParse(b *testing.B) {
	p, f := new(Packet), built(write(WriteMiddle))
	for b.Loop() {
		if p.Parse(f) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkSetECN(b *testing.B) {
	f := built(write(WriteMiddle))
	for b.Loop() {
		f.SetECN(f.ECN() ^ 1)
	}
}

// The operations that a node performs for every frame must not allocate.
func TestNoAllocation(t *testing.T) {
	packets := map[Opcode]Packet{}
	for _, op := range knownOpcodes() {
		packets[op] = write(op)
	}
	var f Frame
	var q Packet
	var pause PFC
	packets[Acknowledge] = aggregated(cethMaxWords)
	for op, p := range packets {
		n := testing.AllocsPerRun(100, func() {
			p.Build(&f)
			f.SetECN(CE)
			sink += int(f.Class()) + int(f.Len()) + readAll(&f)
			if q.Parse(&f) != nil || pause.Parse(&f) == nil {
				t.Error("parsed wrongly")
			}
			pause.Build(&f)
			if pause.Parse(&f) != nil || q.Parse(&f) == nil {
				t.Error("parsed wrongly")
			}
		})
		if n != 0 {
			t.Errorf("%v: %v allocations", op, n)
		}
	}
}

// readAll calls every accessor; on any frame they stay within the header room.
func readAll(f *Frame) int {
	n := int(f.DSCP()) + int(f.ECN()) + int(f.SrcIP()) + int(f.DstIP()) + int(f.SrcPort())
	n += int(f.SrcMAC()[5]) + int(f.DstMAC()[5]) + int(f.Opcode()) + int(f.DestQP()) + int(f.PSN())
	n += int(f.DMALength()) + int(f.Syndrome()) + int(f.MSN()) + int(f.RecRate())
	n += int(f.Resv6()) + int(f.Resv7())
	if h, ok := f.CETH(); ok {
		g, _ := h.Congestion()
		n += int(g.Depth)
	}
	n += int(f.Carrier()) + f.Hops()
	if f.AckReq() && f.BECN() && f.DstIP().Host() < 0 {
		n++
	}
	return n
}

package rx

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const ns = unit.Nanosecond

// cached is an address translation with a cache of that many pages of 4096 bytes.
func cached(entries int) TranslationConfig {
	return TranslationConfig{Entries: entries, Page: 4096, Hit: 10 * ns, Miss: 300 * ns}
}

// write returns a WRITE of 1000 bytes for a queue pair.
func write(op frame.Opcode, qp uint32, address uint64) *frame.Frame {
	var f frame.Frame
	p := frame.Packet{BTH: frame.BTH{Opcode: op, DestQP: qp}, RETH: frame.RETH{VA: address, Length: 5000}, Payload: 1000}
	p.Build(&f)
	return &f
}

// GET-21: the cache makes a lookup short. A message is looked up page by page from its
// address on, also where a packet crosses the end of a page.
func TestPacketsOfAPageMissOnce(t *testing.T) {
	atu := newTranslator(cached(4))
	for i, want := range []struct {
		op           frame.Opcode
		hits, misses uint64
	}{
		{frame.WriteFirst, 0, 1}, // 8192 to 9191
		{frame.WriteMiddle, 1, 1},
		{frame.WriteMiddle, 2, 1},
		{frame.WriteMiddle, 3, 1},
		{frame.WriteLast, 4, 2}, // 12192 to 13191: page 2 and the next one
	} {
		at := atu.translate(0, write(want.op, 1, 8192))
		if s := atu.stats; s.Hits != want.hits || s.Misses != want.misses {
			t.Errorf("packet %d: %d hits and %d misses, want %d and %d", i, s.Hits, s.Misses, want.hits, want.misses)
		}
		if busy := unit.Time(want.hits)*10*ns + unit.Time(want.misses)*300*ns; at != busy {
			t.Errorf("packet %d is translated at %v, want %v: lookups take turns", i, at, busy)
		}
	}
	if at := atu.translate(us, write(frame.WriteFirst, 1, 8192)); at != us+10*ns {
		t.Errorf("a later packet is translated at %v, want 10ns after its arrival", at)
	}
}

// Equal addresses of different queue pairs are different pages. Data without an address
// continues where that of its queue pair ended.
func TestPagesBelongToAQueuePair(t *testing.T) {
	atu := newTranslator(cached(8))
	atu.translate(0, write(frame.WriteFirst, 1, 0))
	atu.translate(0, write(frame.WriteFirst, 2, 0))
	if s := atu.stats; s.Misses != 2 {
		t.Errorf("%d misses of two queue pairs, want 2", s.Misses)
	}
	for range 9 {
		atu.translate(0, write(frame.ReadResponseMiddle, 1, 1<<30))
	}
	if s := atu.stats; s.Misses != 4 || s.Hits != 9 { // bytes 1000 to 9999, over two ends of pages
		t.Errorf("%d hits and %d misses, want 9 and 4", s.Hits, s.Misses)
	}
	if at := atu.translate(9*us, &frame.Frame{}); at != 9*us {
		t.Errorf("a frame without payload is translated at %v", at)
	}
}

// An LRU cache equals a list in which a used page moves to the front.
func TestLRUTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		c := newLRU(size)
		var list []page
		for _, number := range rapid.SliceOf(rapid.Uint64Range(0, 7)).Draw(t, "pages") {
			p := page{number: number}
			at := slices.Index(list, p)
			if at >= 0 {
				list = slices.Delete(list, at, at+1)
			}
			list = slices.Insert(list, 0, p)[:min(len(list)+1, size)]
			if hit := c.use(p); hit != (at >= 0) {
				t.Fatalf("page %d: hit %v in a cache of %d", number, hit, size)
			}
		}
	})
}

// Translation and absorption overlap: a miss delays a frame that finds the buffer empty,
// and is hidden behind the absorption of earlier frames.
func TestMissesAreHiddenBehindAbsorption(t *testing.T) {
	k := NewIntake(Config{Absorb: gbps, Buffer: 100_000, XOFF: 50_000, XON: 10_000, Translation: cached(4)}, Port{})
	var out fabric.Out
	for qp := range uint32(3) {
		k.Put(0, class, write(frame.WriteFirst, qp, 0), &out)
	}
	cost := gbps.Serialise(write(frame.WriteFirst, 0, 0).Len())
	for i := range unit.Time(3) {
		if want := 300*ns + (i+1)*cost; k.Due() != want {
			t.Errorf("frame %d is absorbed at %v, want %v", i, k.Due(), want)
		}
		k.Take()
	}
}

// A host that absorbs at once is limited by the lookups alone.
func TestMissesLimitAbsorption(t *testing.T) {
	k := NewIntake(Config{Buffer: 100_000, XOFF: 50_000, XON: 10_000, Translation: cached(2)}, Port{})
	var out fabric.Out
	for i := range uint32(9) { // three queue pairs in turn, two entries
		k.Put(0, class, write(frame.WriteFirst, i%3, 0), &out)
	}
	if k.Immediate() {
		t.Error("frames are absorbed at once")
	}
	for i := range unit.Time(9) {
		if want := (i + 1) * 300 * ns; k.Due() != want {
			t.Errorf("frame %d is absorbed at %v, want %v", i, k.Due(), want)
		}
		k.Take()
	}
	if s := k.Translations(); !s.On || s.Hits != 0 || s.Misses != 9 {
		t.Errorf("%+v, want 9 misses", s)
	}
}

package rttx

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

func sizeOf(v any) uintptr { return reflect.TypeOf(v).Size() }

// RTTX-3, RTTX-4, RTTX-5: the 5-tuple identifies a flow, or the preferred form:
// addresses, UDP ports and QPN. A change of any of these fields makes another flow, and
// no field that changes from packet to packet does. FlowKey is a hash.
func TestFlowKey(t *testing.T) {
	changes := map[string]func(*Fields){
		"source":           func(f *Fields) { f.Src++ },
		"destination":      func(f *Fields) { f.Dst++ },
		"source port":      func(f *Fields) { f.SrcPort++ },
		"destination port": func(f *Fields) { f.DstPort++ },
		"QPN":              func(f *Fields) { f.QP++ },
	}
	if Default().Key != KeyQueuePair {
		t.Errorf("default form %s", Default().Key)
	}
	for _, form := range []Key{KeyFiveTuple, KeyQueuePair} {
		p := settings(func(p *Params) { p.Key = form })
		for name, change := range changes {
			other := there
			change(&other)
			same := name == "QPN" && form == KeyFiveTuple
			if (p.flowKey(other) == p.flowKey(there)) != same || form.same(other, there) != same {
				t.Errorf("%s: another %s makes the same flow: %v, want %v", form, name, !same, same)
			}
		}
		for bits := 1; bits <= 64; bits++ {
			p.KeyBits = bits
			if k := p.flowKey(there); bits < 64 && k>>bits != 0 {
				t.Errorf("%s: key %x has more than %d bits", form, k, bits)
			}
		}
	}
}

// RTTX-6: source and destination swapped, a return packet has the 5-tuple of its
// forward flow, if the receiver mirrors the ports.
func TestMirroredMatch(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Key, p.Match = KeyFiveTuple, MatchMirror }))
	feed(c, "MMMMMMMM")
	if level, _ := c.Return(0, mirrored); level != 4 {
		t.Errorf("mirrored ports: level %d, want 4", level)
	}
	// RTTX-7: RoCEv2's own ACK does not match by that rule, ...
	wantIncrement(t, c, 0, 0)
	if s := c.Stats(); s.Unknown != 1 {
		t.Errorf("%d unknown", s.Unknown)
	}
}

// RTTX-7: ... but by the queue-pair table, in both forms of the key. The QPN of the
// other end cannot make a FlowKey by swapping: that setting is refused.
func TestQueuePairTable(t *testing.T) {
	for _, form := range []Key{KeyFiveTuple, KeyQueuePair} {
		c := converter(t, settings(func(p *Params) { p.Key = form }))
		feed(c, "MMMMMMMM")
		wantIncrement(t, c, 4, 2*us)
	}
	p := settings(func(p *Params) { p.Match = MatchMirror })
	if p.Validate() == nil {
		t.Error("match mirror with key queue-pair passes")
	}
}

// RTTX-12: a full table leaves a new flow alone, packet after packet, counted; a
// flow that has aged makes room.
func TestFullTableIgnoresNewFlows(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Table, p.Age = 2, 60*us }))
	flow := func(i int) Fields {
		f := there
		f.QP += uint32(i)
		return f
	}
	counted := func(now unit.Time, i int) bool {
		defer c.Left(now, flow(i))
		return c.Forward(now, flow(i), true).Counted
	}
	if !counted(0, 0) || !counted(10*us, 1) {
		t.Fatal("the table takes no two flows")
	}
	for range 8 {
		if counted(20*us, 2) {
			t.Fatal("the table takes a third flow")
		}
	}
	if s := c.Stats(); s.Overflowed != 8 || s.Flows != 2 || s.Forward != 2 {
		t.Errorf("after the overflow: %+v", s)
	}
	if !counted(59*us, 0) || !counted(70*us, 2) || counted(71*us, 1) {
		t.Error("flow 2 should take the place of flow 1, silent for 60us")
	}
	if s := c.Stats(); s.Replaced != 1 || s.Registered != 3 || s.Overflowed != 9 {
		t.Errorf("after the replacement: %+v", s)
	}
}

// RTTX-12: a flow whose FlowKey is another flow's passes untouched and is counted;
// the other flow's state is not its own.
func TestCollision(t *testing.T) {
	p := settings(func(p *Params) { p.KeyBits = 4 })
	other := there
	for other.QP++; p.flowKey(other) != p.flowKey(there); other.QP++ {
	}
	returning := back
	returning.QP++
	c := New(p, []Pair{{there, back.QP}, {other, returning.QP}}, 1, nil)
	feed(c, "MMMMMMMM")
	if v := c.Forward(0, other, true); v.Counted || !v.Collided {
		t.Errorf("the flow with the same key: %+v", v)
	}
	if level, _ := c.Return(0, returning); level != 0 {
		t.Errorf("its return packet gets level %d", level)
	}
	if s := c.Stats(); s.Collided != 1 || s.Forward != 8 {
		t.Errorf("counted %+v", s)
	}
}

// The twin keeps the packets of every flow since it was last silent in a slice, and the
// flows in the order of their last packets.
func TestConverterAgainstTwin(t *testing.T) {
	const flows, limit, age = 6, 3, 50
	rapid.Check(t, func(t *rapid.T) {
		p := settings(func(p *Params) {
			p.Table, p.Age = limit, age
			p.Way = rapid.SampledFrom([]Way{WayGraded, WayTable}).Draw(t, "way")
			p.Window = rapid.IntRange(1, 10).Draw(t, "window")
		})
		var pairs []Pair
		for i := range flows {
			f := there
			f.QP += uint32(i)
			pairs = append(pairs, Pair{f, back.QP + uint32(i)})
		}
		c := New(p, pairs, 1, nil)
		twin := twin{params: p}
		now := unit.Time(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += unit.Time(rapid.IntRange(0, 30).Draw(t, "gap"))
			i := rapid.IntRange(0, flows-1).Draw(t, "flow")
			if rapid.Bool().Draw(t, "forward") {
				event := rapid.Bool().Draw(t, "event")
				want := twin.forward(now, i, event)
				if got := c.Forward(now, pairs[i].Forward, event).Counted; got != want {
					t.Fatalf("flow %d counted: %v, want %v", i, got, want)
				}
				if want && rapid.Bool().Draw(t, "waits") {
					twin.see(now, i, 1)
				} else if want {
					c.Left(now, pairs[i].Forward)
				}
			} else if twin.waits(i) && rapid.Bool().Draw(t, "leaves") {
				c.Left(now, pairs[i].Forward)
				twin.see(now, i, -1)
			}
			returning := back
			returning.QP += uint32(i)
			level, increment := c.Return(now, returning)
			if want := twin.level(now, i); level != want || increment != p.increment(want, p.D) {
				t.Fatalf("flow %d: level %d, increment %s, want level %d", i, level, increment, want)
			}
		}
		if c.Stats().Flows != len(twin.flows) {
			t.Fatalf("%d flows, want %d", c.Stats().Flows, len(twin.flows))
		}
	})
}

type twinFlow struct {
	id, waiting int
	seen        unit.Time
	events      []bool // since it was silent
}

func (f *twinFlow) silent(now unit.Time, p *Params) bool {
	return f.waiting == 0 && now-f.seen >= p.Age
}

type twin struct {
	params Params
	flows  []twinFlow // by last packet
}

func (w *twin) forward(now unit.Time, id int, event bool) bool {
	next := twinFlow{id: id}
	at := -1
	for i, f := range w.flows {
		if f.id == id {
			next, at = f, i
		}
	}
	switch {
	case at >= 0:
		w.flows = append(w.flows[:at:at], w.flows[at+1:]...)
	case len(w.flows) < w.params.Table:
	case w.flows[0].silent(now, &w.params):
		w.flows = w.flows[1:]
	default:
		return false
	}
	if next.silent(now, &w.params) {
		next.events = nil
	}
	next.seen = now
	next.events = append(next.events[:len(next.events):len(next.events)], event)
	w.flows = append(w.flows, next)
	return true
}

// waits reports whether a packet of the flow is in the switch.
func (w *twin) waits(id int) bool {
	return slices.ContainsFunc(w.flows, func(f twinFlow) bool { return f.id == id && f.waiting > 0 })
}

// see makes a flow the newest and adds that many packets of it to the switch.
func (w *twin) see(now unit.Time, id, more int) {
	i := slices.IndexFunc(w.flows, func(f twinFlow) bool { return f.id == id })
	f := w.flows[i]
	f.seen, f.waiting = now, f.waiting+more
	w.flows = append(slices.Delete(w.flows, i, i+1), f)
}

func (w *twin) level(now unit.Time, id int) int {
	for _, f := range w.flows {
		if f.id != id || f.silent(now, &w.params) {
			continue
		}
		if w.params.Way == WayTable {
			return tableLevel(f.events, w.params.Window)
		}
		level := 0
		for _, event := range f.events {
			if event {
				level = min(level+1, w.params.Levels)
			} else {
				level = max(level-1, 0)
			}
		}
		return level
	}
	return 0
}

// tableLevel looks up e of the last complete window in table 1.
func tableLevel(events []bool, window int) int {
	whole := len(events) / window * window
	if whole == 0 {
		return 0
	}
	marked := 0
	for _, event := range events[whole-window : whole] {
		if event {
			marked++
		}
	}
	e := float64(marked) / float64(window)
	for level, bound := range []float64{0.2, 0.4, 0.6, 0.8} {
		if e < bound {
			return level
		}
	}
	return TableLevels
}

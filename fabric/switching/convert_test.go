package switching

import (
	"encoding/binary"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// RTTX-57: 5 of 8 forward packets carry CE; D = 2 us; the ACK's T_r becomes T_r + 1 us.
// RTTX-2: forward and return packets are seen in whatever class and port they pass.
// RTTX-30: the very next return packet carries the news.
// RTTX-64: the packets are captured, the state is determined, the signal is
// converted, and the departing ACKs show congestion to the sender's RTT logic.
func TestWorkedExampleOnFrames(t *testing.T) {
	r := converting(t, nil)
	now := r.window(5)
	r.run(now)
	r.wantStamps(r.returned(now, answer()), stampSent, stampReceived+1000)
	if got := r.notes(fabric.LevelChanged); len(got) != 1 || got[0].Level() != 3 || got[0].OldLevel() != 0 || got[0].Flow != 0 {
		t.Errorf("level changes %+v, want one from 0 to 3", got)
	}
	if got := r.notes(fabric.Rewritten); len(got) != 1 || got[0].Duration() != us || got[0].Level() != 3 {
		t.Errorf("rewritings %+v, want one of 1us at level 3", got)
	}
	if got := r.notes(fabric.EventCounted); len(got) != 5 {
		t.Errorf("%d events, want 5", len(got))
	}
	// RTTX-37: on top of the true RTT; RTTX-31: in every return packet.
	later := reply(func(p *frame.Packet) { p.Timestamps.Received += 777 })
	r.wantStamps(r.returned(now+2*us, later), stampSent, stampReceived+777+1000)
}

// RTTX-58: without congestion not a byte of any frame changes, there or back.
func TestConverterIsTransparentWithoutCongestion(t *testing.T) {
	r := converting(t, nil)
	for i, ecn := range []frame.ECN{frame.NotECT, frame.ECT0, frame.ECT1, frame.ECT0, frame.NotECT, frame.ECT1, frame.ECT0, frame.ECT0, frame.ECT0} {
		now := unit.Time(i) * 3 * us
		there, back := onward(0, ecn), answer()
		r.arrive(now, flowFrom, there)
		r.run(now + us)
		sent := r.sent(flowTo)
		if string(sent[i].Header()) != string(there.Header()) {
			t.Errorf("forward packet %d left as\n% x, came as\n% x", i, sent[i].Header(), there.Header())
		}
		if got := r.returned(now+2*us, back); string(got.Header()) != string(back.Header()) {
			t.Errorf("return packet %d left as\n% x, came as\n% x", i, got.Header(), back.Header())
		}
	}
	if s := r.Stats().Converter; s.Forward != 9 || s.Returned != 9 || s.Events != 0 || s.Rewritten != 0 {
		t.Errorf("counted %+v", s)
	}
}

// RTTX-17, RTTX-23, RTTX-24: CE is an event; having been counted it leaves as
// Not-ECT, or as ECT(0) if so set, with a right header checksum.
func TestCEIsCountedThenCleared(t *testing.T) {
	for clear, want := range map[rttx.Clear]frame.ECN{rttx.ClearNotECT: frame.NotECT, rttx.ClearECT0: frame.ECT0} {
		r := converting(t, func(c *Config) { c.RTTX.Clear = clear })
		r.window(8)
		r.run(10 * us)
		for i, f := range r.sent(flowTo) {
			var p frame.Packet
			if err := p.Parse(&f); err != nil {
				t.Fatalf("packet %d: %v", i, err)
			}
			if p.ECN != want {
				t.Errorf("%s: packet %d leaves with ECN %d, want %d", clear, i, p.ECN, want)
			}
		}
		if s := r.Stats().Converter; s.Events != 8 {
			t.Errorf("%d events", s.Events)
		}
		// A later switch, whose queue is long for all but the first frame and the last,
		// does not mark Not-ECT (RFC 3168), and does mark ECT(0).
		cfg := rackConfig(4)
		cfg.Classes[lossless].Marking, cfg.Classes[lossless].RED = cc.MarkRED, REDConfig{}
		next := newRig(t, cfg)
		for _, f := range append(r.sent(flowTo), *onward(0, frame.ECT0), *onward(0, frame.ECT0)) {
			next.arrive(20*us, flowFrom, &f)
		}
		next.run(40 * us)
		wantMarks := "--------M-"
		if clear == rttx.ClearECT0 {
			wantMarks = "-MMMMMMMM-"
		}
		next.wantMarks(wantMarks)
	}
}

// RTTX-18, RTTX-25: the switch judges by itself, by its queue, the packet's delay,
// its buffer, or its marking law; the judgement is a count, and no CE is written.
func TestSwitchDetectsCongestionItself(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"queue":     func(c *Config) { c.RTTX.Judge, c.RTTX.Queue = rttx.JudgeQueue, 4*size },
		"delay":     func(c *Config) { c.RTTX.Judge, c.RTTX.Delay = rttx.JudgeDelay, 4*slot },
		"occupancy": func(c *Config) { c.RTTX.Judge, c.RTTX.Occupancy = rttx.JudgeOccupancy, 5*size },
		"marking law": func(c *Config) {
			c.Classes[lossless].Marking = cc.MarkRED
			c.Classes[lossless].RED = REDConfig{Kmin: 4*size - 1, Kmax: 4*size - 1}
		},
	} {
		r := converting(t, change)
		for i := range 8 { // all at once: the last waits 7 slots, and leaves no queue
			f := onward(0, frame.ECT0)
			f.Arrival = us
			r.arrive(us, fabric.Port(1+i%2), f)
		}
		r.run(10 * us)
		for i, f := range r.sent(flowTo) {
			if f.ECN() != frame.ECT0 {
				t.Errorf("%s: packet %d leaves with ECN %d", name, i, f.ECN())
			}
		}
		// The first finds the port free, the others find queues of 0, 1, ... 6, delays of
		// 1, 2, ... 7 slots, and buffers of 1, 2, ... 7 frames, their own included.
		want := map[string]uint64{"queue": 3, "delay": 4, "occupancy": 3, "marking law": 3}[name]
		if s := r.Stats().Converter; s.Events != want {
			t.Errorf("%s: %d events, want %d", name, s.Events, want)
		}
		if got := len(r.notes(fabric.Marked)); got != 0 {
			t.Errorf("%s: %d frames marked", name, got)
		}
	}
}

// RTTX-27: packets that measure no RTT pass unchanged: an ACK without timestamps; a CNP,
// whose CE is PCN's message; data in the other direction. So does a frame of a class
// that is not rewritten.
func TestConverterIgnoresOtherPackets(t *testing.T) {
	r := converting(t, nil)
	now := r.window(8)
	r.run(now)
	counted := r.Stats().Converter
	for name, f := range map[string]*frame.Frame{
		"plain ACK": reply(func(p *frame.Packet) { p.Timestamped = false }),
		"CNP": reply(func(p *frame.Packet) {
			p.Timestamped, p.BTH.Opcode, p.ECN, p.DSCP = false, frame.OpcodeCNP, frame.CE, uint8(lossless)*8
		}),
		"other class": reply(func(p *frame.Packet) {
			p.BTH.Opcode, p.ECN, p.DSCP = frame.WriteMiddle, frame.CE, uint8(lossy)*8
		}),
	} {
		now += 3 * us
		if got := r.returned(now, f); string(got.Header()) != string(f.Header()) {
			t.Errorf("%s leaves as\n% x, came as\n% x", name, got.Header(), f.Header())
		}
	}
	if s := r.Stats().Converter; s != counted {
		t.Errorf("counted %+v, want still %+v", s, counted)
	}
}

// RTTX-14, RTTX-27: the response to an RTT probe is recognised and rewritten like a stamped
// ACK. The probe itself measures nothing yet, and is no forward packet of the flow's data:
// it is neither rewritten nor counted.
func TestProbeResponsesAreRewritten(t *testing.T) {
	r := converting(t, nil)
	now := r.window(5)
	r.run(now)
	response := func(p *frame.Packet) { p.BTH.Opcode = frame.RTTResponse }
	r.wantStamps(r.returned(now, reply(response)), stampSent, stampReceived+1000)
	counted := r.Stats().Converter
	probe := func(p *frame.Packet) {
		p.BTH.Opcode, p.BTH.DestQP, p.DSCP = frame.RTTProbe, frame.ReceiverQP(0), uint8(lossless)*8
		p.Src, p.Dst, p.ECN = p.Dst, p.Src, frame.CE
	}
	r.arrive(now+2*us, flowFrom, reply(probe))
	r.run(now + 3*us)
	sent := r.sent(flowTo)
	if got := sent[len(sent)-1]; string(got.Header()) != string(reply(probe).Header()) {
		t.Errorf("the probe leaves as\n% x", got.Header())
	}
	// In the direction of responses it has no timestamps to convert either.
	stray := func(p *frame.Packet) { p.BTH.Opcode = frame.RTTProbe }
	r.wantStamps(r.returned(now+4*us, reply(stray)), stampSent, stampReceived)
	if s := r.Stats().Converter; s != counted || s.Rewritten != 1 {
		t.Errorf("counted %+v, want still %+v", s, counted)
	}
}

// RTTX-32, RTTX-34: the other way to rewrite, T_s put back, modulo the field's 32
// bits: below 0 the RTT is still the longer one.
func TestRewritingTheSentTimestamp(t *testing.T) {
	r := converting(t, func(c *Config) { c.RTTX.Stamp = rttx.StampSent })
	now := r.window(8)
	r.run(now)
	r.wantStamps(r.returned(now, answer()), stampSent-2000, stampReceived)
	early := r.returned(now+2*us, reply(func(p *frame.Packet) { p.Timestamps = frame.Timestamps{Sent: 300, Received: 9_300} }))
	if rtt := early.Timestamps().Received.Since(early.Timestamps().Sent); rtt != 11*us {
		t.Errorf("T_s below 0: RTT %s, want 9us + 2us", rtt)
	}
}

// RTTX-36: the ICRC of the rewritten ACK, made where it leaves the fabric, covers
// the new timestamp; the IP header's checksum stands.
func TestRewrittenACKIsValid(t *testing.T) {
	r := converting(t, nil)
	now := r.window(8)
	r.run(now)
	was := answer()
	got := r.returned(now, was)
	var p frame.Packet
	if err := p.Parse(&got); err != nil {
		t.Fatal(err)
	}
	before, after := was.Materialise(nil), got.Materialise(nil)
	icrc := len(after) - 4
	if string(before[icrc:]) == string(after[icrc:]) {
		t.Error("the ICRC is that of the old timestamp")
	}
	if binary.LittleEndian.Uint32(after[icrc:]) != frame.ICRC(after[14:icrc]) {
		t.Error("the ICRC is wrong")
	}
	if string(before[:icrc-8]) != string(after[:icrc-8]) {
		t.Error("more than the timestamps has changed")
	}
}

// Telemetry between UDP and BTH does not change the flow of a packet.
func TestPacketsWithTelemetryAreCounted(t *testing.T) {
	r := converting(t, nil)
	for i := range 8 {
		f := onward(0, frame.CE)
		if i%2 == 0 {
			f.Carry(frame.CarrierINT, 3)
		}
		r.arrive(unit.Time(i)*us, flowFrom, f)
	}
	r.run(8 * us)
	r.wantStamps(r.returned(9*us, answer()), stampSent, stampReceived+2000)
}

// RTTX-12: a flow that finds the table full, or its FlowKey in use by another flow, passes
// untouched, counted and noted: its CE stays, and the switch's own marks are written.
func TestFlowBeyondTheTableKeepsItsECN(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   func(*RTTXConfig)
		collided bool
	}{
		{"full table", func(c *RTTXConfig) { c.Table = 1 }, false},
		{"one key for two flows", func(c *RTTXConfig) { c.KeyBits = 1 }, true},
	} {
		r := converting(t, func(c *Config) {
			tt.change(&c.RTTX)
			c.Classes[lossless].Marking, c.Classes[lossless].RED = cc.MarkRED, REDConfig{}
		})
		const other = 3 // flows 1 and 2 have another key of one bit
		for i, f := range []*frame.Frame{onward(0, frame.ECT0), onward(other, frame.CE), onward(other, frame.ECT0), onward(0, frame.ECT0), onward(0, frame.ECT0)} {
			r.arrive(0, fabric.Port(1+i%2), f)
		}
		r.run(10 * us)
		// A queue of any length marks: all but the first and the last meet one.
		r.wantMarks("-MM--")
		if s := r.Stats().Converter; s.Overflowed+s.Collided != 2 || (s.Collided == 2) != tt.collided || s.Forward != 3 {
			t.Errorf("%s: counted %+v", tt.name, s)
		}
		if n := r.notes(fabric.Untracked); len(n) != 2 || n[0].Flow != other || n[0].Collided() != tt.collided {
			t.Errorf("%s: notes %+v", tt.name, n)
		}
	}
}

// RTTX-2, RTTX-19: data and requests count, whatever their verb; packets of the way back do not.
func TestForwardPacketsAreDataAndRequests(t *testing.T) {
	for op, want := range map[frame.Opcode]uint64{
		frame.WriteOnly: 1, frame.SendOnly: 1, frame.ReadRequest: 1, frame.FetchAdd: 1, frame.CompareSwap: 1,
		frame.Acknowledge: 0, frame.AtomicAcknowledge: 0, frame.RTTResponse: 0, frame.OpcodeCNP: 0,
	} {
		r := converting(t, nil)
		r.arrive(0, flowFrom, reply(func(p *frame.Packet) {
			p.Src, p.Dst, p.DSCP, p.ECN = frame.HostIP(flowFrom), frame.HostIP(flowTo), uint8(lossless)*8, frame.CE
			p.BTH.Opcode, p.BTH.DestQP = op, frame.ReceiverQP(0)
		}))
		r.run(us)
		if s := r.Stats().Converter; s.Forward != want || s.Events != want {
			t.Errorf("%s: %d forward packets with %d events, want %d", op, s.Forward, s.Events, want)
		}
	}
}

// RTTX-50: D changes while the switch runs; so does P_max, the switch's own.
func TestIncrementIsTunable(t *testing.T) {
	tune := func(r *rig, key fabric.Key, value int64) bool {
		before := len(r.notes(fabric.Tuned))
		r.Control(0, &fabric.Change{Verb: fabric.Tune, Key: key, Value: value}, &r.out)
		return len(r.notes(fabric.Tuned)) > before
	}
	r := converting(t, nil)
	now := r.window(8)
	r.run(now)
	r.wantStamps(r.returned(now, answer()), stampSent, stampReceived+2000)
	if !tune(r, fabric.KeyRTTIncrement, int64(5*us)) {
		t.Fatal("D does not change")
	}
	r.wantStamps(r.returned(now+2*us, answer()), stampSent, stampReceived+5000)
	// RTTX-48: by the formula, of this switch's buffer and ports.
	if tune(r, fabric.KeyRTTIncrement, 0); r.Stats().Converter.D != 600*us {
		t.Errorf("D is %s, want 12 MB over 4 ports of 40 Gbit/s = 600us", r.Stats().Converter.D)
	}
	for _, d := range []unit.Time{-us, rttx.MaxD + 1} {
		if tune(r, fabric.KeyRTTIncrement, int64(d)) {
			t.Errorf("D = %s passes", d)
		}
	}
	if tune(newRig(t, rackConfig(2)), fabric.KeyRTTIncrement, int64(us)) {
		t.Error("a switch without a converter takes a D")
	}
	r = converting(t, func(c *Config) { c.RTTX.Way, c.RTTX.PMax = rttx.WayProbabilistic, 0.25 })
	r.window(1) // one event in eight: level 0 at the end
	r.arrive(10*us, flowFrom, onward(0, frame.CE))
	r.wantStamps(r.returned(11*us, answer()), stampSent, stampReceived+500)
	r.Control(0, &fabric.Change{Verb: fabric.Tune, Key: fabric.KeyPmax, Share: 0.5, Classes: 1 << lossless}, &r.out)
	r.wantStamps(r.returned(13*us, answer()), stampSent, stampReceived+1000)
}

func TestConverterConfigIsValidated(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Classes[lossless].Rewrite = "rewrite" },
		func(c *Config) { c.RTTX.Age = 0 },
	} {
		cfg := rackConfig(2)
		cfg.RTTX.Params = rttx.Default()
		cfg.RTTX.Age = us
		cfg.Classes[lossless].Rewrite = cc.RewriteRTTX
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		if cfg.Validate() == nil {
			t.Errorf("passes: %+v", cfg.RTTX)
		}
	}
}

// A frame causes no allocation in a converter.
func TestConverterDoesNotAllocate(t *testing.T) {
	r := converting(t, nil)
	r.out.Quiet, r.out.Pool = true, new(frame.Pool)
	there, back := onward(0, frame.CE), answer()
	now := unit.Time(0)
	step := func() {
		r.arrive(now, flowFrom, there)
		r.arrive(now, flowTo, back)
		r.run(now + us)
		now += us
		r.out.Reset()
	}
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
	if s := r.Stats().Converter; s.Rewritten < 1000 {
		t.Errorf("only %d rewritten", s.Rewritten)
	}
}

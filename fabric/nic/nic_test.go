package nic

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A flow begins at its start and is noted with its size. It completes when its last byte
// is acknowledged.
func TestFlowLifecycle(t *testing.T) {
	f := flow(3, 64_000)
	f.Start = 20 * us
	b := newBench(t, 2, []FlowConfig{f, flow(4, Endless)})
	b.run(unit.Millisecond)
	var started, completed fabric.Note
	for _, n := range b.notes[0] {
		switch {
		case n.Flow == 3 && n.Kind == fabric.FlowStarted:
			started = n
		case n.Flow == 3 && n.Kind == fabric.Completed:
			completed = n
		case n.Flow == 4 && n.Kind == fabric.FlowStarted && (n.At != 0 || n.Bytes() != -1):
			t.Errorf("%+v", n)
		}
	}
	if started.At != 20*us || started.Bytes() != 64_000 {
		t.Errorf("started %+v", started)
	}
	var last unit.Time
	for _, f := range b.from(1, isACK) {
		if f.DestQP() == frame.SenderQP(3) {
			last = f.Arrival
		}
	}
	if completed.Bytes() != 64_000 || completed.Start() != 20*us || completed.At != last {
		t.Errorf("completed %+v, the last ACK is in at %v", completed, last)
	}
	delivered := unit.Bytes(0)
	for _, n := range b.noted(1, fabric.Delivered) {
		if n.Flow == 3 {
			delivered += n.Bytes()
		}
	}
	if delivered != 64_000 {
		t.Errorf("%d bytes in Delivered notes", delivered)
	}
}

// The transmission of a frame takes its length plus overhead at the port's rate. The next
// one starts when it ends.
func TestLinkIsNeverOverbooked(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), {ID: 1, From: 1, To: 0, Size: Endless}}
	b := newBench(t, 2, flows, pcn, func(c *Config) { c.Overhead = 20 })
	b.run(300 * us)
	for host := range b.nics {
		sent := b.from(host, func(*frame.Frame) bool { return true })
		for i, f := range sent {
			end := f.start + testRate.Serialise(f.Len()+20)
			if f.Arrival != end+testDelay {
				t.Fatalf("arrives at %v, want %v", f.Arrival, end+testDelay)
			}
			if i+1 < len(sent) && sent[i+1].start < end {
				t.Fatalf("frame %d starts at %v, the one before ends at %v", i+1, sent[i+1].start, end)
			}
		}
	}
}

// adversity drops and marks frames and pauses classes, by a drawn seed.
func (b *fabricBench) adversity(t *rapid.T) {
	odds := rapid.IntRange(2, 200).Draw(t, "odds")
	state := rapid.Uint64().Draw(t, "seed")
	b.tap = func(from int, f *frame.Frame) bool {
		state = state*6364136223846793005 + 1442695040888963407
		if isData(f) && state>>40%3 == 0 {
			f.SetECN(frame.CE)
		}
		return state>>33%uint64(odds) != 0
	}
	for range rapid.IntRange(0, 20).Draw(t, "pauses") {
		class := fabric.Priority(rapid.SampledFrom([]int{dataPrio, ctrlPrio, 0}).Draw(t, "class"))
		at := unit.Time(rapid.Int64Range(0, int64(unit.Millisecond)).Draw(t, "at"))
		b.inject(rapid.IntRange(0, len(b.nics)-1).Draw(t, "host"), at, pfc(class, rapid.Uint16().Draw(t, "quanta")))
	}
}

// Under losses, marks and pauses every flow completes and every byte is delivered once. At
// every instant sent = acknowledged + in flight + to be sent.
func TestEverythingIsDeliveredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var flows []FlowConfig
		for i := range rapid.IntRange(1, 6).Draw(rt, "flows") {
			f := flow(fabric.FlowID(i), unit.Bytes(rapid.Int64Range(1, 60_000).Draw(rt, "size")))
			f.From = rapid.IntRange(0, 2).Draw(rt, "from")
			f.To = (f.From + rapid.IntRange(1, 2).Draw(rt, "hop")) % 3
			f.Start = unit.Time(rapid.Int64Range(0, int64(100*us)).Draw(rt, "start"))
			flows = append(flows, f)
		}
		b := newBench(t, 3, flows, pcn, func(c *Config) {
			c.Timeout = 200 * us
			c.AckEvery = rapid.IntRange(1, 8).Draw(rt, "ackEvery")
			c.ControlQueue = rapid.IntRange(1, 16).Draw(rt, "queue")
			c.ControlRate = rapid.SampledFrom([]int64{0, 200_000, 5_000_000}).Draw(rt, "rate")
			c.Payload = 1000
		})
		b.adversity(rt)
		for at := 50 * us; at <= 5*unit.Millisecond; at += 50 * us {
			b.run(at)
			b.checkSenders(rt)
		}
		b.tap = nil
		b.run(50 * unit.Millisecond)
		for host, n := range b.nics {
			for _, s := range n.Stats().Senders {
				if !s.Completed || s.AckedBytes != flows[s.Flow].Size || s.InFlightBytes != 0 {
					rt.Fatalf("host %d: %+v", host, s)
				}
			}
			for _, r := range n.Stats().Receivers {
				if r.DeliveredBytes != flows[r.Flow].Size {
					rt.Fatalf("host %d: %+v", host, r)
				}
			}
			if at, ok := n.Next(); ok {
				rt.Fatalf("host %d is done and wants a tick at %v", host, at)
			}
		}
	})
}

func (b *fabricBench) checkSenders(t *rapid.T) {
	for _, n := range b.nics {
		for _, s := range n.qps.Senders {
			r, _ := n.qps.Flow(s.ID)
			if r.Done() {
				continue
			}
			before := func(packet int64) unit.Bytes { return min(unit.Bytes(packet)*n.cfg.Payload, r.Size) }
			acked, next := r.Window()
			if r.InFlight() != before(next)-before(acked) || r.AckedBytes != before(acked) || acked > next || before(next-1) >= r.Size {
				t.Fatalf("%d in flight, want %d: acked %d, next %d", r.InFlight(), before(next)-before(acked), acked, next)
			}
		}
	}
}

// The same inputs give the same frames and notes, byte for byte.
func TestDeterminism(t *testing.T) {
	run := func() string {
		var flows []FlowConfig
		for i := range 20 {
			f := flow(fabric.FlowID(i), 300_000)
			f.From, f.To, f.Start = i%3, (i+1)%3, unit.Time(i%4)*us
			flows = append(flows, f)
		}
		b := newBench(t, 3, flows, pcn, func(c *Config) { c.Timeout = 100 * us })
		b.lose(10, 11, 50, 400)
		b.inject(0, 30*us, pfc(dataPrio, 500))
		b.run(2 * unit.Millisecond)
		var text strings.Builder
		for i := range b.sent {
			f := &b.sent[i]
			fmt.Fprintf(&text, "%v %v %v %d %x\n", f.from, f.start, f.Arrival, f.Payload, f.Header())
		}
		fmt.Fprint(&text, b.notes)
		return text.String()
	}
	if first, second := run(), run(); first != second {
		t.Error("two runs differ")
	}
}

// Quiet omits the notes per frame and nothing else.
func TestQuietOmitsPerFrameEvents(t *testing.T) {
	n := mustNew(t, config(0, []FlowConfig{flow(0, Endless)}))
	out := fabric.Out{Quiet: true}
	for range 10 {
		at, _ := n.Next()
		n.Tick(at, &out)
	}
	if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.FlowStarted || len(out.Sends) < 9 {
		t.Errorf("%d sends, notes %+v", len(out.Sends), out.Notes)
	}
}

// New reports all faults at once.
func TestNewRejectsInvalidConfig(t *testing.T) {
	c := config(0, []FlowConfig{flow(0, 0), flow(0, 1), {ID: 2, From: 5, To: 5, Size: 1}, {ID: 1 << 30, From: 0, To: 1, Size: 1, Start: -1}})
	c.Rate, c.Payload, c.AckEvery, c.ControlQueue, c.ControlDSCP = 0, 1001, 0, 0, 64
	c.Host, c.Delay, c.Overhead, c.Timeout, c.ControlRate = -1, -1, -frame.MinLen, -1, -1
	c.DSCP[5] = 8
	c.Notification = "smoke"
	_, err := New(c)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"rate", "payload", "ACK covers", "control queue", "control DSCP 64", "host -1", "delay", "overhead",
		"retransmission", "control rate", "DSCP 5: class 8", "smoke", "size 0", "duplicate flow ID 0", "neither source", "ID 1073741824, want", "start -1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q:\n%v", want, err)
		}
	}
	if _, err := New(config(0, []FlowConfig{flow(0, 1)}, func(c *Config) { c.Scheme = "pigeon" })); err == nil {
		t.Error("an unknown scheme was accepted")
	}
	if _, err := New(config(0, []FlowConfig{flow(0, 1)}, func(c *Config) { c.Scheme, c.CC.PCN.WMin = "pcn", 0 })); err == nil {
		t.Error("PCN without wmin was accepted")
	}
}

// A NIC without flows requests no ticks.
func TestIdleNIC(t *testing.T) {
	n := mustNew(t, config(0, nil))
	if at, ok := n.Next(); ok {
		t.Errorf("requests a tick at %v", at)
	}
}

// The counters have the mlx5 driver's names, always in the same order.
func TestCounters(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, pcn)
	b.mark(1, 2)
	b.inject(0, 30*us, pfc(dataPrio, 1000))
	b.inject(0, 50*us, pfc(dataPrio, 0)) // counted as a PAUSE too
	b.run(200 * us)
	var names []string
	value := map[string]uint64{}
	for _, n := range b.nics {
		s := n.Stats()
		for name, v := range s.Counters() {
			names = append(names, name)
			value[name] += v
		}
	}
	if half := len(names) / 2; !slices.Equal(names[:half], names[half:]) {
		t.Error("the order differs")
	}
	if value["np_cnp_sent"] == 0 || value["np_cnp_sent"] < value["rp_cnp_handled"] || value["np_ecn_marked_roce_packets"] < 100 ||
		value["rx_prio3_pause"] != 2 || value["rx_prio3_pause_duration"] != 12 || value["rx_prio3_pause_transition"] != 1 {
		t.Errorf("%v", value)
	}
	for name := range b.nics[0].stats.Counters() {
		if name == "np_cnp_sent" {
			break // a caller may stop early
		}
	}
}

// FuzzArrive checks that a NIC is total: no frame makes it panic.
func FuzzArrive(f *testing.F) {
	for _, seed := range []frame.Frame{
		pfc(3, 9), dataFrame(frame.WriteFirst, 0, 5000, 1000), dataFrame(frame.WriteOnly, 0, 999, 1000),
		cnpFrame(frame.CE, 7),
		{},
	} {
		f.Add(seed.Header(), seed.Payload)
	}
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		var g frame.Frame
		if !g.SetHeader(header) {
			t.Skip()
		}
		g.Payload = payload
		for host := range 2 {
			n := mustNew(t, config(host, []FlowConfig{flow(0, Endless)}, pcn))
			out := fabric.Out{}
			n.Tick(0, &out)
			n.Arrive(1, 0, &g, &out)
			for range 5 {
				if at, ok := n.Next(); ok {
					n.Tick(at, &out)
				}
			}
		}
	})
}

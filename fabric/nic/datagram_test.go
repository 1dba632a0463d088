package nic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// newDatagrams returns an exchange with one connection for datagrams.
func newDatagrams(t testing.TB, change ...func(*Config)) *fabricBench {
	t.Helper()
	return newExchange(t, 1, append(change, func(c *Config) { c.Connections[0].Datagram = true })...)
}

// sends posts count sends of 1000 bytes at host 0, one per microsecond.
func (b *fabricBench) sends(count int) {
	b.t.Helper()
	for i := range count {
		b.post(0, work.Command{ID: uint32(i), Verb: work.Send, Size: 1000})
		b.run(b.now + us)
	}
}

// A datagram is one packet with a DETH, which nothing answers. It is complete when its
// last byte is on the wire.
func TestDatagramIsOnePacketWithoutACK(t *testing.T) {
	b := newDatagrams(t, func(c *Config) { c.Timeout = 20 * us; c.RTT = cc.RTTEcho })
	for i, size := range []unit.Bytes{1000, 999, 1} {
		b.post(0, work.Command{ID: uint32(i), Verb: work.Send, Size: size})
	}
	b.run(100 * us)
	sent := b.from(0, isData)
	if diff := cmp.Diff([]frame.Opcode{frame.UDSendOnly, frame.UDSendOnly, frame.UDSendOnly}, opcodes(b.sent)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]uint32{0, 1, 2}, psns(sent)); diff != "" {
		t.Error(diff)
	}
	var done, ends []unit.Time
	for i, n := range b.noted(0, fabric.CommandDone) {
		f := &sent[i].Frame
		done, ends = append(done, n.At), append(ends, f.Arrival-testDelay)
		if f.DETH() != (frame.DETH{QKey: qp.QKey, SourceQP: frame.SenderQP(0)}) || f.AckReq() || f.Timestamped() {
			t.Errorf("datagram %d: %#x, AckReq %v, timestamps %v", i, f.DETH(), f.AckReq(), f.Timestamped())
		}
	}
	if diff := cmp.Diff(ends, done); diff != "" || len(done) != 3 {
		t.Errorf("%d sends complete: %s", len(done), diff)
	}
	s := b.nics[1].Stats()
	if b.delivered(1) != 2000 || s.Engine.Datagrams.Received != 3 || s.Engine.Unexpected != 3 {
		t.Errorf("%v delivered, %+v", b.delivered(1), s.Engine.Datagrams)
	}
	if n := b.nics[0].Stats().Senders[0].InFlightBytes; n != 0 {
		t.Errorf("%v in flight", n)
	}
}

// A datagram is complete when its transmission ends, not one timeout after it began, whatever
// arrives meanwhile.
func TestDatagramsHaveNoTimeout(t *testing.T) {
	b := newDatagrams(t, func(c *Config) { c.Timeout = 100 * unit.Nanosecond }) // half of the transmission
	ack := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), DSCP: ctrlDSCP,
		BTH: frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(0), PSN: 5}, AETH: frame.AETH{Syndrome: frame.SyndromeACK},
	}
	var f frame.Frame
	ack.Build(&f)
	b.post(0, work.Command{Verb: work.Send, Size: 1000})
	b.inject(0, b.now+50*unit.Nanosecond, f)
	b.run(100 * us)
	sent, done := b.from(0, isData), b.noted(0, fabric.CommandDone)
	if len(sent) != 1 || len(done) != 1 || b.nics[0].Stats().Malformed != 1 {
		t.Fatalf("%d datagrams sent and %d complete, %d packets discarded", len(sent), len(done), b.nics[0].Stats().Malformed)
	}
	if end := sent[0].Arrival - testDelay; done[0].At != end {
		t.Errorf("complete at %v, want %v", done[0].At, end)
	}
}

// A lost datagram is not sent again. The receiver counts the missing PSN, until the packet
// arrives late.
func TestLostDatagramIsCountedOnly(t *testing.T) {
	b := newDatagrams(t, func(c *Config) { c.Timeout = 20 * us })
	var late frame.Frame
	b.tap = func(_ int, f *frame.Frame) bool {
		if f.PSN() == 2 {
			late = *f
		}
		return f.PSN() != 1 && f.PSN() != 2
	}
	b.sends(5)
	b.run(unit.Millisecond)
	if got := b.from(0, isData); len(got) != 5 || len(b.done()) != 5 || b.delivered(1) != 3000 {
		t.Errorf("%d packets, %d complete, %v delivered", len(got), len(b.done()), b.delivered(1))
	}
	if got := b.nics[1].Stats(); got.Engine.Datagrams != (qp.DatagramStats{On: true, Received: 3, Missing: 2}) || got.OutOfSequence != 0 {
		t.Errorf("%+v", got.Engine.Datagrams)
	}
	b.inject(1, b.now+us, late)
	b.run(b.now + 2*us)
	counters := map[string]uint64{}
	for name, n := range b.nics[1].Counters() {
		counters[name] = n
	}
	if counters["rx_datagrams"] != 4 || counters["rx_datagrams_missing"] != 1 || b.delivered(1) != 4000 {
		t.Errorf("%v, %v delivered", counters, b.delivered(1))
	}
	for name := range b.nics[0].Counters() {
		if strings.HasPrefix(name, "rx_datagrams") {
			t.Errorf("the sender counts %s", name)
		}
	}
}

// CETH-47: marked datagrams are answered by enhanced CNPs alone, at most one in each
// interval, and the end of the marks by one of degree none. The sender reacts as to the
// CETH of an ACK.
// CETH-35: the scenario is that of UD sends.
func TestEnhancedCNPsAnswerMarkedDatagrams(t *testing.T) {
	for _, source := range []cc.CETHSource{cc.CETHWindow, cc.CETHSwitch} {
		interval := 10 * us
		b := newDatagrams(t, aggregated(byTable), func(c *Config) {
			if c.CC.CETH.Source, c.CC.CETH.Interval = source, interval; source == cc.CETHSwitch {
				c.CC.CETH.Form = cc.CETHResv6
			}
		})
		b.tap = func(_ int, f *frame.Frame) bool {
			if n := f.PSN(); isData(f) && n >= 5 && n < 35 {
				f.SetECN(frame.CE)
			}
			return true
		}
		b.sends(50)
		b.run(200 * us)
		cnps := b.from(1, func(*frame.Frame) bool { return true })
		if len(cnps) != 5 {
			t.Fatalf("%s: %d packets return, want 5: four intervals with marks, and one without", source, len(cnps))
		}
		for i := range cnps {
			f := &cnps[i]
			h, ok := f.CETH()
			g, known := h.Congestion()
			last := i == len(cnps)-1
			if i > 0 && f.start-cnps[i-1].start < interval {
				t.Errorf("%s: CNP %d at %v, the last at %v", source, i, f.start, cnps[i-1].start)
			}
			if !isCNP(&f.Frame) || !ok || f.DestQP() != frame.SenderQP(0) || f.ECN() != frame.NotECT {
				t.Errorf("%s: %v to %#x, CETH %v", source, f.Opcode(), f.DestQP(), ok)
			}
			if known != (last || source == cc.CETHWindow) || known && (!g.Enhanced || g.Service != frame.ServiceUD || last != (g.Ratio == frame.RatioNone)) {
				t.Errorf("%s: CNP %d has %+v", source, i, g)
			}
		}
		changes := b.noted(0, fabric.RateChanged)
		if len(changes) < 2 || changes[0].Rate() >= testRate || changes[len(changes)-1].Rate() != testRate {
			t.Errorf("%s: rates %+v", source, changes)
		}
	}
}

// CETH-47: the schemes with ordinary CNPs use them for datagrams too.
func TestOrdinaryCNPsAnswerMarkedDatagrams(t *testing.T) {
	for _, mode := range []cc.Notification{cc.NotifyDCQCN, cc.NotifyPCN} {
		b := newDatagrams(t, func(c *Config) { c.Notification, c.Scheme = mode, string(mode) })
		b.tap = func(_ int, f *frame.Frame) bool {
			if isData(f) {
				f.SetECN(frame.CE)
			}
			return true
		}
		b.sends(20)
		b.run(200 * us)
		cnps := b.from(1, isCNP)
		if len(cnps) == 0 || len(b.from(1, isACK)) > 0 || len(b.noted(0, fabric.RateChanged)) == 0 {
			t.Fatalf("%s: %d CNPs, rates %v", mode, len(cnps), b.noted(0, fabric.RateChanged))
		}
		if _, ok := cnps[0].CETH(); ok || cnps[0].DestQP() != frame.SenderQP(0) {
			t.Errorf("%s: CETH %v to %#x", mode, ok, cnps[0].DestQP())
		}
	}
}

// A datagram queue pair accepts only sends of one packet, from its peer and with its Q_Key.
func TestDatagramQueuePairRefuses(t *testing.T) {
	b := newDatagrams(t)
	for _, c := range []work.Command{put(0, 100), get(0, 100), {Verb: work.FetchAdd, Size: 8}, {Verb: work.Send, Size: 1001}, {Verb: work.Send}} {
		err := b.nics[0].qps.Engine.Post(PostConfig{Series: work.Series{Command: c, Count: 1}})
		if err == nil || !strings.Contains(err.Error(), "want send of 1 byte to 1KB, one packet") {
			t.Errorf("%v of %v: %v", c.Verb, c.Size, err)
		}
	}
	valid := frame.Packet{
		SrcMAC: frame.HostMAC(0), DstMAC: frame.HostMAC(1), Src: frame.HostIP(0), Dst: frame.HostIP(1), DSCP: dataDSCP, TTL: 64,
		BTH:  frame.BTH{Opcode: frame.UDSendOnly, PKey: frame.DefaultPKey, DestQP: frame.ReceiverQP(0)},
		DETH: frame.DETH{QKey: qp.QKey, SourceQP: frame.SenderQP(0)}, Payload: 100,
	}
	for name, change := range map[string]func(*frame.Packet){
		"":               func(*frame.Packet) {},
		"Q_Key":          func(p *frame.Packet) { p.DETH.QKey++ },
		"source QP":      func(p *frame.Packet) { p.DETH.SourceQP++ },
		"host":           func(p *frame.Packet) { p.Src = frame.HostIP(7) },
		"payload":        func(p *frame.Packet) { p.Payload = 0 },
		"RC send":        func(p *frame.Packet) { p.BTH.Opcode = frame.SendOnly },
		"immediate data": func(p *frame.Packet) { p.BTH.Opcode = frame.UDSendOnlyImm },
		"ACK":            func(p *frame.Packet) { p.BTH.Opcode, p.Payload = frame.Acknowledge, 0 },
	} {
		p, n := valid, mustNew(t, b.nics[1].cfg)
		change(&p)
		var f frame.Frame
		p.Build(&f)
		n.Arrive(us, 0, &f, &fabric.Out{})
		if s := n.Stats(); (s.Malformed == 0) != (name == "") || s.Engine.Datagrams.Received != 1-s.Malformed {
			t.Errorf("%q: %d malformed, %+v", name, s.Malformed, s.Engine.Datagrams)
		}
	}
	// Only CNPs return to the sender.
	ack := valid
	ack.Src, ack.Dst, ack.BTH.Opcode, ack.BTH.DestQP, ack.Payload = frame.HostIP(1), frame.HostIP(0), frame.Acknowledge, frame.SenderQP(0), 0
	var f frame.Frame
	ack.Build(&f)
	b.inject(0, us, f)
	b.run(2 * us)
	if got := b.nics[0].Stats(); got.Malformed != 1 || got.RxACKs != 0 {
		t.Errorf("an ACK: %d malformed, %d ACKs", got.Malformed, got.RxACKs)
	}
}

// CETH-47: the end of the marks is announced if the datagrams end with them, and if the
// first one without a mark comes after the CNP.
func TestEndOfMarksIsAnnounced(t *testing.T) {
	for _, c := range []struct {
		name                string
		marked, count, cnps int
	}{
		// A CNP at once, three later marks in its interval, and a last packet without: two more.
		{"no datagram after the CNP", 4, 5, 3},
		{"no mark after the CNP", 1, 30, 2},
	} {
		b := newDatagrams(t, aggregated(byTable), func(c *Config) { c.CC.CETH.Interval = 10 * us })
		b.tap = func(_ int, f *frame.Frame) bool {
			if isData(f) && f.PSN() < uint32(c.marked) {
				f.SetECN(frame.CE)
			}
			return true
		}
		b.sends(c.count)
		b.run(200 * us)
		cnps := b.from(1, isCNP)
		if len(cnps) != c.cnps {
			t.Fatalf("%s: %d CNPs, want %d", c.name, len(cnps), c.cnps)
		}
		h, ok := cnps[len(cnps)-1].CETH()
		if g, known := h.Congestion(); !ok || !known || g.Ratio != frame.RatioNone || g.Service != frame.ServiceUD {
			t.Errorf("%s: the last CNP has %+v", c.name, g)
		}
	}
}

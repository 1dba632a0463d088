package control

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us          = unit.Microsecond
	controlDSCP = 48
	controlPrio = fabric.Priority(6)
	dataDSCP    = 26
	dataPrio    = fabric.Priority(3)
)

// source sends control packets as ACKs with the DSCP and PSN of the packet.
type source fabric.FlowID

func (s source) FlowID() fabric.FlowID { return fabric.FlowID(s) }

func (s source) BuildControl(_ unit.Time, c *Packet, f *frame.Frame) {
	p := frame.Packet{DSCP: c.DSCP, BTH: frame.BTH{Opcode: frame.Acknowledge, PSN: c.PSN}}
	p.Build(f)
}

// queue returns an empty queue, edited by change.
func queue(change ...func(*Config)) Queue {
	dscp := &[64]fabric.Priority{controlDSCP: controlPrio, dataDSCP: dataPrio}
	c := Config{Limit: 8, DSCP: dscp, Code: controlDSCP}
	for _, edit := range change {
		edit(&c)
	}
	return NewQueue(c)
}

func withData(c *Config) { c.WithData = true }

// put queues packets in answer to data, with PSNs that count from 0.
func put(t *testing.T, q *Queue, kinds ...Kind) {
	t.Helper()
	for i, k := range kinds {
		if !q.Put(0, &Packet{Kind: k, From: source(0), PSN: uint32(i), DSCP: dataDSCP}, &fabric.Out{}) {
			t.Fatalf("packet %d is dropped", i)
		}
	}
}

// sent is a packet on the wire.
type sent struct {
	PSN  uint32
	DSCP uint8
}

// drain sends the packets that are due while classes are paused.
func drain(q *Queue, paused uint8) (list []sent) {
	for q.Due(paused) == 0 {
		var f frame.Frame
		q.Send(0, paused, &f)
		list = append(list, sent{f.PSN(), f.DSCP()})
	}
	return list
}

// CETH-9: all control packets share one queue, in the order in which they were created. A
// probe is in the class of its data; ACKs and NAKs are, if they go with the data.
func TestPacketsOfAClassKeepTheirOrder(t *testing.T) {
	kinds := []Kind{ACK, CNP, Probe, NAK, Response, Credit}
	const data, control = dataDSCP, controlDSCP
	for name, c := range map[string]struct {
		change []func(*Config)
		paused uint8
		want   []sent
	}{
		"control class":          {nil, 0, []sent{{0, control}, {1, control}, {3, control}, {4, control}, {5, control}, {2, data}}},
		"control class paused":   {nil, 1 << controlPrio, []sent{{2, data}}},
		"data class paused":      {nil, 1 << dataPrio, []sent{{0, control}, {1, control}, {3, control}, {4, control}, {5, control}}},
		"both paused":            {nil, 1<<controlPrio | 1<<dataPrio, nil},
		"with data":              {[]func(*Config){withData}, 0, []sent{{1, control}, {4, control}, {5, control}, {0, data}, {2, data}, {3, data}}},
		"with data, data paused": {[]func(*Config){withData}, 1 << dataPrio, []sent{{1, control}, {4, control}, {5, control}}},
	} {
		q := queue(c.change...)
		put(t, &q, kinds...)
		if diff := cmp.Diff(c.want, drain(&q, c.paused)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if q.Len() != len(kinds)-len(c.want) {
			t.Errorf("%s: %d packets are left, want %d", name, q.Len(), len(kinds)-len(c.want))
		}
	}
}

// The rate is that of starts of transmission. The gap is rounded up, so that the rate is
// never exceeded.
func TestRateSeparatesStartsOfTransmission(t *testing.T) {
	for _, c := range []struct {
		rate int64
		gap  unit.Time
	}{{0, 0}, {1_000_000, us}, {3, unit.Second/3 + 1}} {
		q := queue(func(k *Config) { k.Rate = c.rate })
		put(t, &q, ACK, ACK, ACK)
		for i := range unit.Time(3) {
			if due := q.Due(0); due != i*c.gap {
				t.Errorf("rate %d: packet %d is due at %v, want %v", c.rate, i, due, i*c.gap)
			}
			q.Send(q.Due(0), 0, &frame.Frame{})
		}
		if q.Due(0) != unit.Never {
			t.Errorf("rate %d: an empty queue is due at %v", c.rate, q.Due(0))
		}
	}
	q := queue(func(k *Config) { k.Rate = 1_000_000 })
	put(t, &q, ACK, ACK)
	q.Send(7*us, 0, &frame.Frame{})
	if q.Due(0) != 8*us {
		t.Errorf("the second packet is due at %v, want one gap after the start of the first", q.Due(0))
	}
}

// The limit is one of all classes together. A packet that finds no room is counted and noted
// with its length, class, flow and trace.
func TestPacketBeyondTheLimitIsDropped(t *testing.T) {
	q := queue(withData, func(c *Config) { c.Limit = 2 })
	put(t, &q, ACK, CNP)
	var out fabric.Out
	for _, c := range []struct {
		kind  Kind
		class fabric.Priority
	}{{NAK, dataPrio}, {CNP, controlPrio}} {
		out.Reset()
		if q.Put(5*us, &Packet{Kind: c.kind, From: source(7), DSCP: dataDSCP, Trace: 9}, &out) {
			t.Fatalf("kind %d: a full queue accepts a packet", c.kind)
		}
		var ack frame.Frame
		source(7).BuildControl(0, &Packet{}, &ack)
		want := fabric.Note{Event: fabric.NewDropped(ack.Len(), fabric.DropControlQueue), At: 5 * us, Flow: 7, Priority: c.class, Trace: 9}
		if len(out.Notes) != 1 || out.Notes[0] != want {
			t.Errorf("kind %d: notes %+v, want %+v", c.kind, out.Notes, want)
		}
	}
	if q.ControlQueueDrops != 2 || q.Len() != 2 {
		t.Errorf("%d drops counted and %d packets queued, want 2 and 2", q.ControlQueueDrops, q.Len())
	}
	drain(&q, 0)
	put(t, &q, ACK)
}

// A packet is counted when it is sent.
func TestSentPacketsAreCountedByKind(t *testing.T) {
	q := queue(func(c *Config) { c.Limit = 10 })
	put(t, &q, ACK, UETAck, UETAck, NAK, UETNack, CNP, Credit, CreditRequest, Probe, Response)
	if q.Stats != (Stats{}) {
		t.Errorf("%+v before any is sent", q.Stats)
	}
	drain(&q, 0)
	if want := (Stats{TxACKs: 3, TxNAKs: 2, TxProbes: 1, TxProbeResponses: 1}); q.Stats != want {
		t.Errorf("%+v, want %+v", q.Stats, want)
	}
}

// An answer copies what belongs to the packet that it answers; Send returns the arrival.
func TestAnswerCopiesTraceArrivalAndDSCP(t *testing.T) {
	var f, got frame.Frame
	p := frame.Packet{DSCP: dataDSCP, BTH: frame.BTH{Opcode: frame.WriteOnly}}
	p.Build(&f)
	f.Trace, f.Arrival = 11, 3*us
	c := Answer(NAK, source(2), &f)
	if diff := cmp.Diff(Packet{Kind: NAK, From: source(2), Trace: 11, In: 3 * us, DSCP: dataDSCP}, c); diff != "" {
		t.Error(diff)
	}
	q := queue()
	q.Put(4*us, &c, &fabric.Out{})
	if in := q.Send(5*us, 0, &got); in != 3*us {
		t.Errorf("the packet answers one that arrived at %v, want 3us", in)
	}
}

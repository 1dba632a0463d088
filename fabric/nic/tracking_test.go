package nic

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

func timeout(c *Config) { c.Timeout = 100 * us }

// loseOnce drops the first frame of a kind from a host.
func (b *fabricBench) loseOnce(host int, kind func(*frame.Frame) bool) {
	lost := false
	b.tap = func(from int, f *frame.Frame) bool {
		if lost || from != host || !kind(f) {
			return true
		}
		lost = true
		return false
	}
}

// GET-24, GET-27: responses are matched to requests. Lost data is requested again once,
// and every byte is delivered once.
func TestLostPacketIsRetransmitted(t *testing.T) {
	for name, c := range map[string]struct {
		cmd     work.Command
		host    int
		kind    func(*frame.Frame) bool
		resent  int
		timeout bool
	}{
		"request: the next one shows the gap":   {get(0, 5000), 0, isReadRequest, 5, false},
		"response: the next one shows the loss": {get(0, 5000), 1, isResponse, 1, false},
		"the only request":                      {get(0, 500), 0, isReadRequest, 1, true},
		"the only response":                     {get(0, 500), 1, isResponse, 1, true},
		"write":                                 {put(0, 5000), 0, isData, 5, false},
		"the only write":                        {put(0, 500), 0, isData, 1, true},
		"the only ACK":                          {put(0, 500), 1, isACK, 1, true},
		"NAK and all":                           {work.Command{Verb: work.Send, Size: 700}, 0, isData, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newExchange(t, 1, timeout)
			b.loseOnce(c.host, c.kind)
			b.post(0, c.cmd)
			b.run(unit.Millisecond)
			got := len(b.noted(0, fabric.Retransmitted))
			if got == 0 || got > c.resent {
				t.Errorf("%d requests sent again, want 1 to %d", got, c.resent)
			}
			// GET-25: a request without an answer within the timeout enters the retry
			// buffer.
			if timeouts := len(b.noted(0, fabric.TimedOut)); (timeouts > 0) != c.timeout {
				t.Errorf("%d time-outs", timeouts)
			}
			host := 1
			if c.cmd.Verb == work.Get {
				host = 0
			}
			if b.delivered(host) != c.cmd.Size || len(b.done()) != 1 {
				t.Errorf("%v delivered of %v, done %v", b.delivered(host), c.cmd.Size, b.done())
			}
		})
	}
}

// GET-26: an idempotent operation is executed again; one that changes the target is not. A
// repeated atomic is answered with its stored result, and a repeated message is
// acknowledged.
func TestDuplicatesHaveNoEffect(t *testing.T) {
	b := newExchange(t, 1, timeout)
	b.tap = func(from int, f *frame.Frame) bool {
		return from != 1 || b.now > 250*us // the first two answers to each request are lost
	}
	add := work.Command{ID: 0, Verb: work.FetchAdd, Size: 8, Operand: 5}
	b.post(0, add)
	b.post(0, work.Command{ID: 1, Verb: work.Send, Size: 500})
	b.post(0, get(2, 500))
	b.run(unit.Millisecond)
	acks := b.from(1, func(f *frame.Frame) bool { return f.Opcode() == frame.AtomicAcknowledge })
	if len(acks) < 2 || acks[0].Original() != 0 || acks[len(acks)-1].Original() != 0 {
		t.Errorf("%d answers to the atomic, the last found %d", len(acks), acks[len(acks)-1].Original())
	}
	if got := b.nics[1].qps.Engine.Word(0); got != 5 {
		t.Errorf("the word is %d, want one addition of 5", got)
	}
	if b.delivered(1) != 500 || b.delivered(0) != 500 || len(b.done()) != 3 {
		t.Errorf("%v at the target, %v at the initiator, done %v", b.delivered(1), b.delivered(0), b.done())
	}
	if n := len(b.from(1, isResponse)); n < 2 {
		t.Errorf("the data request was answered %d times", n)
	}
}

// GET-53: a response is charged when it is requested, and again when it is requested again.
func TestRetryIsChargedAgain(t *testing.T) {
	b := newExchange(t, 1, timeout, func(c *Config) {
		c.Engine.Pacing, c.Engine.In = shaper.PacingBucket, shaper.Limit{Rate: 1, Depth: 10_000}
	})
	b.loseOnce(1, isResponse)
	b.post(0, get(0, 1000))
	b.run(unit.Millisecond)
	if got := b.nics[0].Stats().Engine.InTokens; got != 10_000-2*1040 || len(b.done()) != 1 {
		t.Errorf("%d tokens left, want two responses charged; done %v", got, b.done())
	}
}

// The limiter counts the requested data that is neither received nor given up as
// outstanding. GET-36: it counts as the register of the response length specifies.
func TestOutstandingIsReleased(t *testing.T) {
	for response, length := range map[unit.Bytes]work.Length{
		1040: {Header: 40, Scale: 1},
		1540: {Header: 40, Scale: 3, Shift: 1},
	} {
		b := newExchange(t, 1, timeout, func(c *Config) {
			c.Engine.Length = length
			c.Engine.Pacing, c.Engine.Outstanding = shaper.PacingOutstanding, shaper.Outstanding{Bytes: 3 * response}
		})
		b.loseOnce(1, isResponse)
		b.post(0, get(0, 20_001)) // the last response has an odd byte
		peak := unit.Bytes(0)
		for at := us; at < 2*unit.Millisecond; at += us {
			b.run(at)
			peak = max(peak, b.nics[0].Stats().Engine.OpenResponses)
		}
		if peak != 3*response {
			t.Errorf("%+v: at most %d bytes outstanding, want %d", length, peak, 3*response)
		}
		if s := b.nics[0].Stats().Engine; s.OpenResponses != 0 || s.Retries != 1 || len(b.done()) != 1 {
			t.Errorf("%+v: %d bytes outstanding at the end, %d retries, done %v", length, s.OpenResponses, s.Retries, b.done())
		}
	}
}

// If a target does not answer, or refuses a request, the connection fails: its present and
// later commands fail.
func TestConnectionFailsAfterItsRetries(t *testing.T) {
	b := newExchange(t, 2, timeout, func(c *Config) { c.Engine.Retries = 3 })
	b.tap = func(from int, _ *frame.Frame) bool { return from != 1 }
	b.post(0, get(0, 5000))
	b.post(0, put(1, 5000))
	b.post(1, get(2, 5000))
	b.run(unit.Millisecond)
	b.post(0, get(3, 5000))
	b.post(1, work.Command{ID: 4, Verb: work.FetchAdd, Size: 8, Address: 3})
	b.run(2 * unit.Millisecond)
	var failed []uint32
	for _, n := range b.noted(0, fabric.CommandFailed) {
		failed = append(failed, n.Command())
	}
	if !slices.Equal(failed, []uint32{0, 1, 3, 4}) || !slices.Equal(b.done(), []uint32{2}) {
		t.Errorf("failed %v, done %v", failed, b.done())
	}
	s := b.nics[0].Stats().Engine
	if s.Failed != 4 || s.RetryBuffer != 0 || slices.ContainsFunc(s.Units, func(u qp.UnitStats) bool { return u.Flow != fabric.NoFlow }) {
		t.Errorf("%+v", s)
	}
}

// For any commands and any losses, every command completes, every byte is delivered once,
// every atomic is executed once, and no state is left over.
func TestEveryCommandExecutesOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pacing := rapid.SampledFrom([]shaper.Pacing{shaper.PacingOff, shaper.PacingBucket, shaper.PacingOutstanding}).Draw(r, "pacing")
		sub := unit.Bytes(rapid.SampledFrom([]int{0, 1000, 2500}).Draw(r, "sub-request"))
		limit := rapid.IntRange(1, 20).Draw(r, "limit")
		policy := rapid.SampledFrom(shaper.Policies).Draw(r, "policy")
		b := newExchange(t, 3, timeout, func(c *Config) {
			e := &c.Engine
			e.Pacing, e.SubRequest, e.GetLimit, e.PutLimit, e.Policy = pacing, sub, limit, limit, policy
			e.In = shaper.Limit{Rate: 10 * gbps, Depth: 5000}
			e.Outstanding = shaper.Outstanding{Bytes: 6000, PerPeriod: 9000, Period: 10 * us}
			e.FlowQueues, e.Units, e.ResponseUnits, e.FlowSlots = 2, 2, 1, 2
			c.AckEvery = rapid.IntRange(1, 3).Draw(r, "ack every")
		})
		loss := rapid.Uint32Range(0, 300).Draw(r, "loss in thousandths")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		b.tap = func(int, *frame.Frame) bool {
			return random.Uint32N(1000) >= loss || b.now > 5*unit.Millisecond
		}
		var want [4]unit.Bytes
		sum, commands := uint64(0), rapid.IntRange(1, 15).Draw(r, "commands")
		for id := range commands {
			cmd := work.Command{
				ID: uint32(id), Verb: work.Verb(rapid.IntRange(0, 3).Draw(r, "verb")), Size: unit.Bytes(rapid.IntRange(1, 9000).Draw(r, "size")),
			}
			connection := rapid.IntRange(0, 2).Draw(r, "connection")
			switch cmd.Verb {
			case work.Get:
				want[0] += cmd.Size
			case work.FetchAdd:
				cmd.Size, cmd.Operand = 8, uint64(id+1)
				sum += cmd.Operand
			default:
				want[1+connection] += cmd.Size
			}
			b.post(fabric.FlowID(connection), cmd)
			b.run(b.now + unit.Time(rapid.IntRange(0, int(20*us)).Draw(r, "pause")))
		}
		b.run(50 * unit.Millisecond)
		ids := b.done()
		slices.Sort(ids)
		if len(slices.Compact(ids)) != commands {
			r.Fatalf("%d of %d commands done", len(ids), commands)
		}
		words := uint64(0)
		for host := range want {
			if got := b.delivered(host); got != want[host] {
				r.Fatalf("host %d got %v, want %v", host, got, want[host])
			}
			words += b.nics[host].qps.Engine.Word(0)
			if s := b.nics[host].Stats(); s.Malformed != 0 || s.Engine.OpenResponses != 0 || s.Engine.RetryBuffer != 0 {
				r.Fatalf("host %d: %+v", host, s.Engine)
			}
		}
		if words != sum {
			r.Fatalf("the words are %d, want %d", words, sum)
		}
	})
}

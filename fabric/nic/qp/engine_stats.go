package qp

import (
	"iter"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// EngineStats is a snapshot of the command engine.
type EngineStats struct {
	Posted, Completed, Failed uint64 // commands
	Retries                   uint64 // requests that entered the retry state
	RetryBuffer               int    // requests in the retry state
	StaleResponses            uint64 // response packets without a waiting request
	ResponseDrops             uint64 // responses dropped because the queue was full
	Unexpected                uint64 // messages that arrived before their buffer
	Buffers                   int    // appended and not matched
	Triggered                 int    // commands waiting for their trigger
	OutTokens, InTokens       unit.Bytes
	OpenResponses             unit.Bytes // requested and not received
	Datagrams                 DatagramStats
	Units                     []UnitStats
	Classes                   []ClassStats
}

// UnitStats is a snapshot of a chopping unit.
type UnitStats struct {
	Flow         fabric.FlowID // connection that it serves, NoFlow for none
	OrdPktActive int           // outstanding request packets
	Skips        uint64        // times that the shaper passed it over for lack of IN tokens
}

// ClassStats is the time that the leaves of a class waited for tokens alone.
type ClassStats struct {
	Class               fabric.Priority
	Requests, Responses shaper.Stall
}

// Stats returns a snapshot.
func (e *Engine) Stats(now unit.Time) EngineStats {
	s := e.stats
	s.Triggered, s.Buffers = e.queues.Triggered(), e.queues.Buffers()
	s.OutTokens, s.InTokens = e.Arbiter.Tokens(now)
	s.OpenResponses = e.Arbiter.Open()
	for u := range e.units {
		one := UnitStats{Flow: fabric.NoFlow, Skips: e.Arbiter.Skips(u)}
		if k := e.units[u]; k != nil {
			one.Flow = k.core().ID
			if c, ok := k.(*initiator); ok {
				one.OrdPktActive = c.requests.active
			}
		}
		s.Units = append(s.Units, one)
	}
	for i := range e.initiators {
		s.RetryBuffer += e.initiators[i].requests.resend
	}
	stalls := e.Arbiter.Stalls(now)
	for i, k := range e.Classes {
		s.Classes = append(s.Classes, ClassStats{k.Class, stalls[2*i], stalls[2*i+1]})
	}
	return s
}

// Counters returns the counters of an engine; without an engine the sequence is empty.
// Stalls have the hardware's names without their prefix, and count nanoseconds.
func (s *EngineStats) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		if s.Units == nil {
			return
		}
		skips := uint64(0)
		for _, u := range s.Units {
			skips += u.Skips
		}
		for _, c := range []struct {
			name  string
			value uint64
		}{
			{"commands_posted", s.Posted},
			{"commands_completed", s.Completed},
			{"commands_failed", s.Failed},
			{"retries", s.Retries},
			{"stale_responses", s.StaleResponses},
			{"response_drops", s.ResponseDrops},
			{"unexpected_messages", s.Unexpected},
			{"mcu_skips", skips},
		} {
			if !yield(c.name, c.value) {
				return
			}
		}
		if d := &s.Datagrams; d.On && (!yield("rx_datagrams", d.Received) || !yield("rx_datagrams_missing", d.Missing)) {
			return
		}
		for _, c := range s.Classes {
			prio := "_prio" + strconv.Itoa(int(c.Class))
			if !yield("stall_no_out_crd_req"+prio, nanoseconds(c.Requests.Out)) ||
				!yield("stall_no_in_crd_req"+prio, nanoseconds(c.Requests.In)) ||
				!yield("stall_no_out_crd_rsp"+prio, nanoseconds(c.Responses.Out)) ||
				!yield("stall_no_in_crd_rsp"+prio, nanoseconds(c.Responses.In)) {
				return
			}
		}
	}
}

func nanoseconds(t unit.Time) uint64 { return uint64(t / unit.Nanosecond) }

// Sample notes the tokens of the whole NIC, and the time that classes have waited
// for tokens since the last sample.
func (e *Engine) Sample(now unit.Time, out *fabric.Out) {
	is, was := shaperSample{stall: e.Arbiter.Stalled(now)}, e.sampled
	is.out, is.in = e.Arbiter.Tokens(now)
	note := func(e fabric.Event) { out.Note(fabric.Note{Event: e, At: now, Flow: fabric.NoFlow}) }
	if is.in != was.in {
		note(fabric.NewTokensSampled(is.in, fabric.DirectionIn))
	}
	if is.out != was.out {
		note(fabric.NewTokensSampled(is.out, fabric.DirectionOut))
	}
	if d := is.stall.In - was.stall.In; d > 0 {
		note(fabric.NewStallSampled(d, fabric.DirectionIn))
	}
	if d := is.stall.Out - was.stall.Out; d > 0 {
		note(fabric.NewStallSampled(d, fabric.DirectionOut))
	}
	e.sampled = is
}

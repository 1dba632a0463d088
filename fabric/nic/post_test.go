package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// GET-15, GET-16: a command queue holds as many commands as it has slots. The host posts
// further commands when there is room.
func TestFullCommandQueueDelaysTheHost(t *testing.T) {
	b := newExchange(t, 1, func(c *Config) { c.Engine.CommandSlots, c.Engine.FlowSlots = 2, 1 })
	b.inject(0, 0, pfc(dataPrio, 0xffff)) // nothing is sent
	b.run(0)
	for id := range uint32(6) {
		b.post(0, put(id, 1000))
	}
	// One is being cut, one is in the flow queue, two in the command queue.
	if posted := len(b.noted(0, fabric.CommandPosted)); posted != 4 {
		t.Errorf("%d posted, want 4", posted)
	}
	b.inject(0, us, pfc(dataPrio, 0))
	b.run(unit.Millisecond)
	if posted, done := len(b.noted(0, fabric.CommandPosted)), b.done(); posted != 6 || len(done) != 6 {
		t.Errorf("%d posted and done %v after the pause", posted, done)
	}
}

func TestInvalidCommandsAreRejected(t *testing.T) {
	at := newExchange(t, 1)
	post := func(host int, connection fabric.FlowID, c work.Command) error {
		return at.nics[host].qps.Engine.Post(PostConfig{Connection: connection, Series: work.Series{Command: c, Count: 1}})
	}
	for i, c := range []work.Command{
		get(0, 0),
		{Verb: 99, Size: 1},
		{Verb: work.FetchAdd, Size: 4},
		{Verb: work.Put, Size: 1, After: work.Trigger{Counter: 7, Threshold: 1}},
		{Verb: work.Put, Size: 1 << 40},
	} {
		if post(0, 0, c) == nil {
			t.Errorf("command %d is accepted: %+v", i, c)
		}
	}
	if valid := get(0, 100); post(0, 0, valid) != nil || post(1, 0, valid) == nil || post(0, 9, valid) == nil {
		t.Error("a command is accepted at its target or without a connection, or refused at its initiator")
	}
	change := fabric.Change{Verb: fabric.Post, Works: []fabric.Work{{ID: 0, Connection: 0, Count: 1, Verb: uint8(work.Get), Size: 100}}}
	for name, n := range map[string]*NIC{"the target": at.nics[1], "a NIC without connections": mustNew(t, config(0, nil))} {
		var out fabric.Out
		n.Control(0, &change, &out)
		if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.Inapplicable {
			t.Errorf("at %s: %+v", name, out.Notes)
		}
	}
}

// GET-17, GET-18: the initiator's scheduler serves its command queues in turn. Each flow
// has its own flow queue, so that a stopped flow does not stop others.
func TestStoppingAFlowDoesNotAffectOthers(t *testing.T) {
	const other = 5
	b := newExchange(t, 2, func(c *Config) {
		c.DSCP[40] = other
		second := c.Engine.Classes[0]
		second.Class, second.DSCP = other, 40
		c.Engine.Classes = append(c.Engine.Classes, second)
		c.Engine.FlowSlots = 1
		for i := range c.Connections {
			if c.Connections[i].ID == 1 {
				c.Connections[i].Class = other
			}
		}
	})
	b.inject(0, us, pfc(dataPrio, 0xffff))
	b.run(2 * us)
	for id := range uint32(5) {
		b.post(0, get(id, 3000))
		b.post(1, get(10+id, 3000))
	}
	b.run(100 * us)
	// GET-40: a class paused by the link partner is not selected.
	if got := b.done(); !slices.Equal(got, []uint32{10, 11, 12, 13, 14}) {
		t.Errorf("done %v: only the class that is not paused may go", got)
	}
	if f := b.from(0, isReadRequest); f[0].DSCP() != 40 || b.from(2, isResponse)[0].DSCP() != 40 {
		t.Error("requests and responses do not travel in the connection's class")
	}
	b.inject(0, 101*us, pfc(dataPrio, 0))
	b.run(unit.Millisecond)
	if got := b.done(); len(got) != 10 {
		t.Errorf("done %v", got)
	}
}

// GET-43: pacing a unit paces its flow queue, and no other.
func TestPacingDelaysTheFlowQueue(t *testing.T) {
	b := newExchange(t, 2, func(c *Config) {
		c.Engine.Pacing, c.Engine.In = shaper.PacingBucket, shaper.Limit{Rate: 8 * unit.MegabitPerSec, Depth: 1500}
	})
	b.post(0, get(0, 1000))
	b.post(0, get(1, 1000)) // spends 1040 of 1500 tokens: 580 more are needed, at 1 per microsecond
	b.post(0, put(2, 1000)) // behind it in the same flow queue
	b.post(1, put(3, 1000))
	b.run(500 * us)
	if got := b.done(); !slices.Equal(got, []uint32{3, 0}) && !slices.Equal(got, []uint32{0, 3}) {
		t.Errorf("done %v while the second GET waits for tokens", got)
	}
	b.run(unit.Millisecond)
	if got := b.done(); len(got) != 4 {
		t.Errorf("done %v", got)
	}
	requests := b.from(0, isReadRequest)
	if at := requests[1].start; at != 580*us {
		t.Errorf("the second request leaves at %v", at)
	}
	// GET-41, GET-61: the shaper sees each candidate's RspPktLen, and counts for each unit
	// how often it was passed over.
	skips := uint64(0)
	for _, u := range b.nics[0].Stats().Engine.Units {
		skips += u.Skips
	}
	over := b.noted(0, fabric.PassedOver)
	if skips != 1 || len(over) != 1 || over[0].Response() != 1040 || over[0].Room() != 460 || over[0].Bound() != fabric.BoundHead || over[0].Flow != 0 {
		t.Errorf("passed over %d times: %+v", skips, over)
	}
}

// GET-29: each completed command causes an event to the host, and is counted.
// GET-19: a triggered command is dispatched when the counter reaches its threshold.
func TestTriggeredCommands(t *testing.T) {
	b := newExchange(t, 2)
	counted := get(0, 1000)
	for id := range uint32(3) {
		counted.ID, counted.Counter = id, 1
		b.postCommand(0, counted)
	}
	after := put(9, 1000)
	after.After = work.Trigger{Counter: 1, Threshold: 3}
	b.post(1, after)
	if got := b.nics[0].Stats().Engine.Triggered; got != 1 {
		t.Errorf("%d commands wait for their trigger", got)
	}
	b.run(unit.Millisecond)
	events := b.noted(0, fabric.CommandDone)
	if !slices.Equal(b.done(), []uint32{0, 1, 2, 9}) || events[3].Start() != 0 || events[3].At <= events[2].At {
		t.Errorf("events %+v", events)
	}
	writes := b.from(0, isData)
	if len(writes) != 1 || writes[0].start != events[2].At {
		t.Errorf("the triggered write leaves at %v, the third GET was complete at %v", writes[0].start, events[2].At)
	}
}

// GET-27: an incoming message is matched to a buffer that the target appended. A message
// that arrives before its buffer is unexpected, and matched when the buffer is appended.
// GET-17: the target's commands have their own scheduler.
func TestListProcessing(t *testing.T) {
	b := newExchange(t, 1, func(c *Config) {
		if c.Host == 1 {
			c.Appends = []TargetConfig{{Target: work.Target{ID: 50, Verb: work.Append}, Count: 1}}
		}
	})
	send := func(id uint32) { b.post(0, work.Command{ID: id, Verb: work.Send, Size: 1500}) }
	b.run(us)
	send(0)
	send(1)
	b.run(100 * us)
	s := b.nics[1].Stats().Engine
	if s.Unexpected != 1 || s.Buffers != 0 || len(b.noted(1, fabric.Unexpected)) != 1 {
		t.Errorf("%d unexpected, %d buffers left", s.Unexpected, s.Buffers)
	}
	var out fabric.Out
	for id, verb := range []work.TargetVerb{work.Search, work.Append, work.Search} {
		b.nics[1].qps.Engine.PostTarget(TargetConfig{Target: work.Target{ID: uint32(id), Verb: verb}, At: b.now, Count: 1})
	}
	b.nics[1].qps.Engine.Tick(b.now, &out)
	var found []bool
	for _, n := range out.Notes {
		found = append(found, n.Found())
	}
	if !slices.Equal(found, []bool{true, true, false}) {
		t.Errorf("found %v: a message waits until a buffer is appended", found)
	}
	if b.delivered(1) != 3000 || len(b.done()) != 2 {
		t.Errorf("%v delivered", b.delivered(1))
	}
}

// A schedule posts each command at its instant, and waits while the queue is full.
func TestSchedule(t *testing.T) {
	b := newExchange(t, 1, func(c *Config) {
		c.Engine.CommandSlots, c.Engine.FlowSlots = 1, 1
		if c.Host == 0 {
			cmd := get(100, 5000)
			cmd.Counter = -1
			c.Posts = []PostConfig{{Series: work.Series{Command: cmd, At: 10 * us, Every: us, Count: 20}}}
		}
	})
	b.run(unit.Millisecond)
	posted := b.noted(0, fabric.CommandPosted)
	if len(posted) != 20 || posted[0].At != 10*us || posted[1].At != 11*us || len(b.noted(0, fabric.CommandRefused)) != 0 {
		t.Errorf("%d posted, %d refused", len(posted), len(b.noted(0, fabric.CommandRefused)))
	}
	if ids := b.done(); len(ids) != 20 || ids[0] != 100 || ids[19] != 119 {
		t.Errorf("done %v", ids)
	}
}

// Flows and commands alternate on the link.
func TestFlowsAndCommandsShareTheLink(t *testing.T) {
	flows := []FlowConfig{{ID: 7, From: 0, To: 1, Size: Endless, Source: 50000, DSCP: dataDSCP}}
	b := newBench(t, 2, flows, func(c *Config) {
		c.Engine = engineConfig()
		c.Connections = []ConnectionConfig{{ID: 0, From: 0, To: 1, Class: dataPrio, Payload: 1000}}
	})
	b.post(0, put(0, 1_000_000))
	b.run(200 * us)
	var sent [2]int
	for _, f := range b.from(0, isData) {
		if flow, _, _ := frame.FlowOfQP(f.DestQP()); flow == 7 {
			sent[0]++
		} else {
			sent[1]++
		}
	}
	if diff := sent[0] - sent[1]; sent[0] < 400 || diff < -10 || diff > 10 {
		t.Errorf("%d frames of the flow, %d of the command", sent[0], sent[1])
	}
}

func TestEngineValidation(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"slots": func(c *Config) { c.Engine.CommandSlots = 0 }, "queues": func(c *Config) { c.Engine.FlowQueues = 0 },
		"units": func(c *Config) { c.Engine.Units = 0 }, "many units": func(c *Config) { c.Engine.Units = 200 },
		"limit": func(c *Config) { c.Engine.GetLimit = 2048 }, "sub-request": func(c *Config) { c.Engine.SubRequest = 1 << 30 },
		"class": func(c *Config) { c.Connections[0].Class = 1 }, "dscp": func(c *Config) { c.Engine.Classes[0].DSCP = 1 },
		"payload": func(c *Config) { c.Connections[0].Payload = 1001 }, "twice": func(c *Config) { c.Connections = append(c.Connections, c.Connections[0]) },
		"depth":   func(c *Config) { c.Engine.Pacing, c.Engine.In = shaper.PacingBucket, shaper.Limit{Rate: 1, Depth: 100} },
		"foreign": func(c *Config) { c.Connections[0].From, c.Connections[0].To = 5, 6 },
		"command": func(c *Config) {
			c.Posts = []PostConfig{{Connection: 9, Series: work.Series{Command: get(0, 1), Count: 1}}}
		},
		"orphan": func(c *Config) { c.Connections, c.Posts = nil, []PostConfig{{Series: work.Series{Count: 1}}} },
	} {
		c := config(0, nil, func(c *Config) {
			c.Engine = engineConfig()
			c.Connections = []ConnectionConfig{{ID: 0, From: 0, To: 1, Class: dataPrio, Payload: 1000}}
			edit(c)
		})
		if _, err := New(c); err == nil {
			t.Errorf("%s: no fault", name)
		}
	}
}

// The engine allocates nothing in the steady state.
func TestCommandsDoNotAllocate(t *testing.T) {
	pair := newBackToBack(t, 0, func(*Config) {})
	for host := range pair.nics {
		pair.nics[host] = mustNew(t, config(host, nil, timeout, func(c *Config) {
			c.Engine = engineConfig()
			c.Engine.Pacing, c.Engine.In = shaper.PacingBucket, shaper.Limit{Rate: 30 * gbps, Depth: 5000}
			c.Connections = []ConnectionConfig{{ID: 0, From: 0, To: 1, Class: dataPrio, Payload: 1000}}
			if host == 0 {
				cmd := get(0, 50_000)
				cmd.Counter = -1
				c.Posts = []PostConfig{{Series: work.Series{Command: cmd, Count: 1 << 30}}}
			}
		}))
	}
	for range 100_000 {
		pair.step()
	}
	if got := testing.AllocsPerRun(100, func() {
		for range 1000 {
			pair.step()
		}
	}); got != 0 {
		t.Errorf("%v allocations per 1000 events", got)
	}
}

// The commands of a target that are not due when its first connection is added are executed
// then. Those that were due before had no queue and were refused.
func TestTargetCommandsOutliveTheFirstConnection(t *testing.T) {
	n := mustNew(t, config(1, nil, func(c *Config) {
		c.Engine = engineConfig()
		for i := range 3 {
			c.Appends = append(c.Appends, TargetConfig{Target: work.Target{ID: uint32(i)}, At: unit.Time(i) * us, Count: 1})
		}
	}))
	var out fabric.Out
	n.Tick(0, &out)
	n.Control(us, &fabric.Change{Verb: fabric.Post, Connections: []ConnectionConfig{{ID: 0, From: 0, To: 1, Class: dataPrio, Payload: 1000}}}, &out)
	for at, ok := n.Next(); ok && at <= 2*us; at, ok = n.Next() {
		n.Tick(at, &out)
	}
	var kinds []fabric.Kind
	for _, note := range out.Notes {
		kinds = append(kinds, note.Kind)
	}
	if want := []fabric.Kind{fabric.CommandRefused, fabric.ListSearched, fabric.ListSearched}; !slices.Equal(kinds, want) || n.Stats().Engine.Buffers != 2 {
		t.Errorf("notes %v, want %v; %d buffers", kinds, want, n.Stats().Engine.Buffers)
	}
}

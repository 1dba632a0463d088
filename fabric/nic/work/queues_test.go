package work

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// GET-18: the hash of a flow selects its flow queue, which no other flow uses.
func TestEachFlowHasItsOwnQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "queues")
		f := newFlows(n, 1)
		taken := map[*flowQueue]int32{}
		for id := range uint64(rapid.IntRange(1, 30).Draw(t, "flows")) {
			k := f.add(0, id)
			own := &f.queues[splitmix.Mix(id)%uint64(n)]
			ok := f.put(&Command{Flow: k})
			q := f.of[k].queue
			if ok != (len(taken) < n) || ok != (q != nil) {
				t.Fatalf("flow %d got a queue: %v, with %d of %d taken", k, ok, len(taken), n)
			}
			if !ok {
				for q, other := range taken {
					q.Take()
					f.release(other)
					delete(taken, q)
					break
				}
				continue
			}
			if other, ok := taken[q]; ok {
				t.Fatalf("flow %d got the queue of flow %d", k, other)
			}
			if _, ok := taken[own]; !ok && q != own {
				t.Fatalf("flow %d did not get the queue at its hash", k)
			}
			taken[q] = k
		}
	})
}

// GET-19: a triggered command waits until its counter reaches the threshold and is dispatched
// then.
func TestTriggered(t *testing.T) {
	tr := newTriggered(2, 2)
	first := Command{ID: 1, After: Trigger{Counter: 0, Threshold: 2}}
	second := Command{ID: 2, After: Trigger{Counter: 1, Threshold: 1}}
	if tr.met(&first) || !tr.met(&Command{}) || !tr.arm(&first) || !tr.arm(&second) || tr.arm(&first) {
		t.Fatal("want two commands delayed, no slot for a third, and no command without a dependency")
	}
	tr.count(0)
	tr.count(-1)
	if tr.ready().Len() != 0 {
		t.Fatal("a command is due before its threshold")
	}
	tr.count(0)
	if tr.arm(&first) {
		t.Error("room for a third command while one waits and one is due")
	}
	if tr.ready().Len() != 1 || tr.ready().Take().ID != 1 || len(tr.waiting) != 1 {
		t.Error("the first command is not due at its threshold")
	}
}

// GET-17, GET-27: list processing matches messages to the buffers that the host has appended.
// A message without a buffer waits for one. The twin counts appended buffers and messages.
func TestListsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueues(Sizes{CommandSlots: 1})
		ahead := 0 // buffers appended minus messages
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "message") {
				if got := q.Match(); got != (ahead > 0) {
					t.Fatalf("a message has a buffer: %v, with %d ahead", got, ahead)
				}
				ahead--
			} else {
				verb := rapid.SampledFrom([]TargetVerb{Append, Search}).Draw(t, "verb")
				q.PostTarget(TargetSeries{Target: Target{Verb: verb}, Count: 1})
				q.WriteTargets(0, func(s Searched) {
					if s.Refused || s.Found != (ahead < 0) {
						t.Fatalf("%+v with %d ahead", s, ahead)
					}
				})
				if verb == Append {
					ahead++
				}
			}
			if q.Buffers() != max(ahead, 0) {
				t.Fatalf("%d buffers, want %d", q.Buffers(), max(ahead, 0))
			}
		}
	})
}

// Commands of the target are executed at their instant, in order, and refused without a queue.
func TestTargetSchedule(t *testing.T) {
	for slots, refused := range map[int]bool{0: true, 1: false} {
		q := NewQueues(Sizes{CommandSlots: slots})
		q.PostTarget(TargetSeries{Target: Target{ID: 7, Verb: Append}, At: 5, Count: 2})
		q.PostTarget(TargetSeries{Target: Target{ID: 3, Verb: Append}, At: 9, Count: 1})
		var got []Searched
		for q.Due() != unit.Never {
			if now := q.Due(); now != 5 && now != 9 {
				t.Fatalf("due at %v", now)
			}
			q.WriteTargets(q.Due(), func(s Searched) { got = append(got, s) })
		}
		if want := []Searched{{ID: 7, Refused: refused}, {ID: 8, Refused: refused}, {ID: 3, Refused: refused}}; !slices.Equal(got, want) {
			t.Errorf("%d slots: %+v, want %+v", slots, got, want)
		}
	}
}

// GET-15: the commands of the initiator and of the target have queues of their own: a full one of
// the initiator refuses no command of the target, which takes no room in it.
func TestTargetCommandsPassAFullQueue(t *testing.T) {
	q := NewQueues(Sizes{Classes: 1, CommandSlots: 1, FlowQueues: 1, FlowSlots: 1})
	q.AddFlow(0, 0)
	q.Post(Series{Count: 2})
	q.PostTarget(TargetSeries{Target: Target{Verb: Append}, At: 1, Count: 3})
	written := 0
	q.Write(0, func(Command) { written++ })
	if written != 1 || q.Due() != 1 {
		t.Fatalf("%d commands written, next at %v: want 1, and those of the target at 1", written, q.Due())
	}
	q.WriteTargets(1, func(s Searched) {
		if s.Refused {
			t.Errorf("command %d of the target is refused", s.ID)
		}
	})
	q.Advance(func(Command, bool) {})
	if q.Write(1, func(Command) { written++ }); q.Buffers() != 3 || written != 2 {
		t.Errorf("%d buffers, %d commands written", q.Buffers(), written)
	}
}

// GET-15, GET-17..20: whatever the sizes, each command of a flow arrives once and in order
// unless it waits for a trigger; a command arrives when its trigger is met; the queues hold no
// more commands than they have slots; and commands of a failed flow fail. A command stays
// behind only if there is no room for it.
func TestCommandsArriveOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Sizes{
			Classes: rapid.IntRange(1, 2).Draw(t, "classes"), CommandSlots: rapid.IntRange(1, 3).Draw(t, "command slots"),
			FlowQueues: rapid.IntRange(1, 2).Draw(t, "flow queues"), FlowSlots: rapid.IntRange(1, 2).Draw(t, "flow slots"), Counters: 1,
		}
		r := &rig{t: t, q: NewQueues(s), sizes: s}
		for i := range rapid.IntRange(1, 3).Draw(t, "flows") {
			r.q.AddFlow(i%s.Classes, uint64(i))
			r.order, r.failed = append(r.order, nil), append(r.failed, false)
		}
		flow := func() int32 { return int32(rapid.IntRange(0, len(r.order)-1).Draw(t, "flow")) }
		for now := range unit.Time(rapid.IntRange(1, 60).Draw(t, "steps")) {
			switch k := flow(); rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				c := Command{ID: r.posted, Flow: k, Counter: int32(rapid.IntRange(-1, 0).Draw(t, "counter"))}
				if rapid.IntRange(0, 3).Draw(t, "triggered") == 0 {
					c.After = Trigger{Threshold: uint64(rapid.IntRange(1, 4).Draw(t, "threshold"))}
				}
				n := rapid.IntRange(1, 3).Draw(t, "count")
				r.q.Post(Series{Command: c, At: now, Every: 2, Count: n})
				r.posted += uint32(n)
			case 2, 3:
				r.execute(k)
			case 4:
				if r.q.Len(k) == 0 {
					r.q.Release(k)
				}
			case 5:
				if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
					r.failed[k] = true
					r.q.Fail(k, func(Command) { r.ended++ })
				}
			}
			for r.q.Due() <= now {
				r.write(now)
			}
			r.advance()
			r.check(now)
		}
		r.drain()
	})
}

// rig is the units behind Queues.
type rig struct {
	t      *rapid.T
	q      Queues
	sizes  Sizes
	order  [][]uint32 // IDs written and not arrived, without triggered ones, by flow
	failed []bool     // by flow
	posted uint32     // commands in the schedule, ever
	written, arrived, ended,
	counted int
}

func (r *rig) write(now unit.Time) {
	r.q.Write(now, func(c Command) {
		r.written++
		if c.After.Threshold == 0 {
			r.order[c.Flow] = append(r.order[c.Flow], c.ID)
		}
		r.advance()
	})
}

func (r *rig) advance() {
	r.q.Advance(func(c Command, ok bool) {
		if ok == r.failed[c.Flow] || uint64(r.counted) < c.After.Threshold {
			r.t.Fatalf("%+v arrives (%v) after %d completions", c, ok, r.counted)
		}
		if c.After.Threshold == 0 {
			if order := r.order[c.Flow]; len(order) == 0 || order[0] != c.ID {
				r.t.Fatalf("command %d of flow %d arrives, want the first of %v", c.ID, c.Flow, order)
			}
			r.order[c.Flow] = r.order[c.Flow][1:]
		}
		r.arrived++
		if !ok {
			r.ended++
		}
	})
}

// execute takes and completes a command of a flow.
func (r *rig) execute(flow int32) {
	if r.q.Len(flow) == 0 {
		return
	}
	c := r.q.Take(flow)
	if c.Counter == 0 {
		r.counted++
	}
	r.q.Complete(&c)
	r.ended++
}

// check checks that a command that stays behind has no room.
func (r *rig) check(now unit.Time) {
	waiting, full := 0, 0
	for i := range r.q.commands {
		waiting += r.q.commands[i].Len()
	}
	for i := range r.q.flows.of {
		if n := r.q.Len(int32(i)); n > r.sizes.FlowSlots {
			r.t.Fatalf("%d commands in %d slots", n, r.sizes.FlowSlots)
		} else if n == r.sizes.FlowSlots {
			full++
		}
	}
	taken := 0
	for i := range r.q.flows.queues {
		if r.q.flows.queues[i].taken {
			taken++
		}
	}
	armed := r.q.Triggered() + r.q.triggered.ready().Len()
	if waiting > 0 && full == 0 && taken < r.sizes.FlowQueues && armed < r.sizes.CommandSlots {
		r.t.Fatalf("%d commands wait in the command queues at %v, and there is room", waiting, now)
	}
	if waiting > r.sizes.Classes*r.sizes.CommandSlots || armed > r.sizes.CommandSlots || r.written != r.arrived+waiting+armed {
		r.t.Fatalf("%d written: %d arrived, %d wait, %d are triggered", r.written, r.arrived, waiting, armed)
	}
}

// drain executes all that is left, as far as triggers let it.
func (r *rig) drain() {
	for range r.posted + 1 {
		for i := range r.order {
			for r.q.Len(int32(i)) > 0 {
				r.execute(int32(i))
			}
			r.q.Release(int32(i))
		}
		if r.q.Due() != unit.Never {
			r.write(r.q.Due())
		}
		r.advance()
	}
	if r.q.Triggered() == 0 && (r.ended != int(r.posted) || r.q.Due() != unit.Never) {
		r.t.Fatalf("%d of %d commands done, due %v", r.ended, r.posted, r.q.Due())
	}
}

// A series with posts takes the instant and the size of each command from them.
func TestSeriesOfPosts(t *testing.T) {
	s := Series{Command: Command{ID: 7}, At: 10, Count: 3, Posts: []Post{{0, 5}, {4, 6}, {4, 9}}}
	var got []Command
	for now := range unit.Time(20) {
		for s.due() <= now {
			got = append(got, s.take(now))
		}
	}
	if want := []Command{{ID: 7, Size: 5, Posted: 10}, {ID: 8, Size: 6, Posted: 14}, {ID: 9, Size: 9, Posted: 14}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

package traces

import (
	"cmp"
	"fmt"
	"slices"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// visit is a span of a message.
type visit struct {
	message int // index into Data.Messages
	span    *rackfabv1.Span
	tid     int
}

// Instants of a slice, rounded down to ns, the resolution of Perfetto, so that spans that
// nest do so after rounding.
func (v *visit) from() int64 { return floor(v.span.GetStartPs(), 1000) }
func (v *visit) to() int64   { return floor(v.span.GetEndPs(), 1000) }

// lane is a thread and its slices that have not ended. Slices of a thread must nest; here
// only those of one message do.
type lane struct {
	tid  int
	open []visit
}

// takes reports whether a slice may follow the previous ones of the lane.
func (l *lane) takes(v visit) bool {
	for n := len(l.open); n > 0 && l.open[n-1].to() <= v.from(); n-- {
		l.open = l.open[:n-1]
	}
	if len(l.open) == 0 {
		return true
	}
	top := &l.open[len(l.open)-1]
	return top.message == v.message && v.to() <= top.to()
}

// addMessages adds the spans at a node to as few threads as they need.
func (c *chrome) addMessages(node string) {
	var lanes []*lane
	for _, v := range c.visits(func(s *rackfabv1.Span) bool { return s.GetNode() == node }) {
		at := slices.IndexFunc(lanes, func(l *lane) bool { return l.takes(v) })
		if at < 0 {
			name := "messages"
			if at = len(lanes); at > 0 {
				name = fmt.Sprintf("messages %d", at+1)
			}
			lanes = append(lanes, &lane{tid: c.thread(node, name)})
		}
		v.tid = lanes[at].tid
		lanes[at].open = append(lanes[at].open, v)
		c.addSpan(&v)
	}
}

// visits returns some spans of all messages: by start, the longer first.
func (c *chrome) visits(wanted func(*rackfabv1.Span) bool) (all []visit) {
	for i, m := range c.data.Messages {
		for _, s := range m.GetSpans() {
			if wanted(s) {
				all = append(all, visit{message: i, span: s})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b visit) int {
		return cmp.Or(cmp.Compare(a.from(), b.from()), cmp.Compare(b.to(), a.to()), cmp.Compare(a.message, b.message))
	})
	return all
}

// addSpan adds the slice of a span and the instants of its events.
func (c *chrome) addSpan(v *visit) {
	s := v.span
	args := values(c.data.place(s))
	for key, value := range values(s.GetAttributes()) {
		args[key] = value
	}
	args["trace_id"], args["span_id"] = c.data.Messages[v.message].GetTraceId(), s.GetSpanId()
	if s.GetError() != "" {
		args["error"] = s.GetError()
	}
	c.slice(s.GetNode(), v.tid, s.GetName()+" "+s.GetFlow(), "message", v.from(), v.to(), args)
	c.addStep(v)
	for _, e := range s.GetEvents() {
		c.events = append(c.events, chromeEvent{
			Name: e.GetName(), Cat: "event", Phase: "i", Scope: "t", At: micros(floor(e.GetAtPs(), 1000)),
			PID: c.pids[s.GetNode()], TID: v.tid, Args: values(e.GetAttributes()),
		})
	}
}

// addStep adds a step of the arrows of a message: from one slice below its root to the
// next. It belongs to the slice because it directly follows it at the same instant.
func (c *chrome) addStep(v *visit) {
	if v.span.GetParentSpanId() == "" {
		return
	}
	c.chains[v.message] = append(c.chains[v.message], len(c.events))
	c.events = append(c.events, chromeEvent{
		Name: "message", Cat: "message", Phase: "t", ID: v.message + 1, At: micros(v.from()), PID: c.pids[v.span.GetNode()], TID: v.tid,
	})
}

// linkChains makes the first step of every message the start of its arrows, and the last
// step the end. It removes the only step of a message.
func (c *chrome) linkChains() {
	for _, chain := range c.chains {
		if len(chain) == 0 {
			continue
		}
		ends := func(i int) int64 { return int64(c.events[i-1].At + *c.events[i-1].Took) } // of the slice before the step
		slices.SortStableFunc(chain, func(a, b int) int {
			return cmp.Or(cmp.Compare(c.events[a].At, c.events[b].At), cmp.Compare(ends(a), ends(b)))
		})
		first, last := &c.events[chain[0]], &c.events[chain[len(chain)-1]]
		first.Phase = "s"
		if last.Phase, last.Bind = "f", "e"; first == last {
			last.Phase = ""
		}
	}
	c.events = slices.DeleteFunc(c.events, func(e chromeEvent) bool { return e.Phase == "" })
}

package imports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Ends of a flow that activate a trigger.
const (
	sent     = iota // send_done_trigger: the sender has all acknowledgements
	received        // recv_done_trigger: the receiver has all data
)

// htsimTrigger starts flows when others are done.
type htsimTrigger struct {
	line    int
	id      int64
	kind    string // oneshot, multishot or barrier
	count   int    // activations of a barrier
	targets []int  // flows that it starts, as in the file
	by      []htsimEnd
}

// htsimEnd is the end of a flow: sent or received.
type htsimEnd struct{ flow, end int }

// needs returns the number of activations after which a oneshot or a barrier fires.
func (t *htsimTrigger) needs() int {
	if t.kind == "barrier" {
		return t.count
	}
	return 1
}

// trigger reads "id K (oneshot | multishot | barrier count N)".
func (h *htsim) trigger(words []string) {
	t := &htsimTrigger{line: h.line}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case slices.Contains([]string{"oneshot", "multishot", "barrier"}, word):
			h.require(t.kind == "", "more than one of oneshot, multishot and barrier")
			t.kind = word
		case word == "id" && len(words) > 0:
			t.id, _ = h.number("trigger id", words[0], 1, htsimInt)
			words = words[1:]
		case word == "count" && len(words) > 0:
			n, _ := h.number("count", words[0], 1, htsimInt)
			t.count, words = int(n), words[1:]
		default:
			h.fault(h.file, h.line, "%q, want trigger id K and oneshot, multishot or barrier count N", word)
			words = nil
		}
	}
	h.require(t.id > 0, "trigger without id")
	h.require(t.kind != "", "trigger without oneshot, multishot or barrier")
	h.require(t.kind != "barrier" || t.count > 0, "barrier without count")
	h.order = append(h.order, t)
	if first, taken := h.triggers[t.id]; taken {
		h.fault(h.file, h.line, "trigger %d was declared on line %d", t.id, first.line)
		return
	}
	h.triggers[t.id] = t
}

// check checks what lines of the file say of each other, and connects flows and triggers.
func (h *htsim) check() {
	h.numberMessages()
	h.checkNames()
	for i := range h.flows {
		f := &h.flows[i]
		if t := h.triggerOf(f.trigger, f); t != nil {
			f.place = len(t.targets)
			t.targets = append(t.targets, i)
		}
		for end, id := range f.done {
			if t := h.triggerOf(id, f); t != nil {
				f.nth[end] = len(t.by)
				t.by = append(t.by, htsimEnd{i, end})
			}
		}
	}
	for _, t := range h.order {
		if n := len(t.by); t.kind != "multishot" && n > t.needs() {
			h.fault(h.file, t.line, "%d lines activate trigger %d, want at most %d", n, t.id, t.needs())
		}
	}
}

// triggerOf returns the trigger with an id, nil if that is 0 or there is none, which is a fault.
func (h *htsim) triggerOf(id int64, f *htsimFlow) *htsimTrigger {
	t := h.triggers[id]
	if id > 0 && t == nil {
		h.fault(h.file, f.line, "no trigger %d is declared", id)
	}
	return t
}

// numberMessages numbers the messages whose msg has no number: in the order of the file, after the highest number of the
// connection.
func (h *htsim) numberMessages() {
	highest := map[int64]int64{}
	for _, f := range h.flows {
		highest[f.id] = max(highest[f.id], f.msg)
	}
	for i := range h.flows {
		if f := &h.flows[i]; f.msg == unnumbered {
			highest[f.id]++
			f.msg = highest[f.id]
		}
	}
}

// checkNames checks that ids are unique. Messages share the id and the ends of their connection.
func (h *htsim) checkNames() {
	type key struct{ id, msg int64 }
	first := map[key]*htsimFlow{}
	for i := range h.flows {
		f := &h.flows[i]
		if f.id == 0 {
			continue
		}
		of, taken := first[key{f.id, 0}]
		switch {
		case !taken:
			first[key{f.id, 0}] = f
		case f.msg == 0 || of.msg == 0:
			h.fault(h.file, f.line, "id %d is that of line %d: only messages, with msg, share a connection", f.id, of.line)
		case of.from != f.from || of.to != f.to:
			h.fault(h.file, f.line, "connection %d is from %d to %d on line %d", f.id, of.from, of.to, of.line)
		case first[key{f.id, f.msg}] != nil || of.msg == f.msg:
			h.fault(h.file, f.line, "message %d of connection %d was given before", f.msg, f.id)
		default:
			first[key{f.id, f.msg}] = f
		}
	}
}

// htsimOrder is the order in which flows can run: those that start by themselves, then those whose
// triggers fire.
type htsimOrder struct {
	flows  []int
	level  []int // by flow: the longest chain of flows before it, -1 if it never starts
	levels int
}

func (o *htsimOrder) runs(flow int) bool { return o.level[flow] >= 0 }

// add adds a flow after a chain of others.
func (o *htsimOrder) add(flow, level int) {
	o.flows, o.level[flow], o.levels = append(o.flows, flow), level, max(o.levels, level+1)
}

// play returns the flows that start, in an order in which each comes after those that start it, with rising levels.
func (h *htsim) play() *htsimOrder {
	o := &htsimOrder{level: slices.Repeat([]int{-1}, len(h.flows))}
	for i := range h.flows {
		if h.flows[i].started {
			o.add(i, 0)
		}
	}
	done := map[*htsimTrigger]int{}
	for k := 0; k < len(o.flows); k++ {
		i := o.flows[k]
		for end, id := range h.flows[i].done {
			t := h.triggers[id]
			if t == nil {
				continue
			}
			done[t]++
			if t.kind == "multishot" {
				if n := h.flows[i].nth[end]; n < len(t.targets) {
					o.add(t.targets[n], o.level[i]+1)
				}
			} else if done[t] == t.needs() {
				for _, target := range t.targets {
					o.add(target, o.level[i]+1)
				}
			}
		}
	}
	return o
}

// noteFlows notes what the scenario does not say of the flows.
func (h *htsim) noteFlows(order *htsimOrder) {
	if h.timed && h.unit == unit.Microsecond {
		h.note("start is in us, as the UEC driver reads it; many generators write ps: --start-unit ps of rackfab import htsim reads these")
	}
	if h.unit == unit.Microsecond && h.last >= unit.Second {
		h.note("the last start is at %s, which in ps would be %s: the file is probably for --start-unit ps", h.last, h.last/unit.Microsecond)
	}
	if h.timed && h.unit == unit.Picosecond {
		h.note("start is in ps")
	}
	if h.cut > 0 {
		h.note("fractions cut off: start of %d of %d flows", h.cut, len(h.flows))
	}
	if h.prio > 0 {
		h.note("ignored: prio of %d of %d flows", h.prio, len(h.flows))
	}
	var never, several []string
	for i := range h.flows {
		if !order.runs(i) {
			never = append(never, h.name(i))
		}
	}
	h.noteList(never, "left out, as their triggers never fire")
	for _, t := range h.order {
		if t.kind == "multishot" && len(t.by) > 1 && len(t.targets) > 1 {
			several = append(several, fmt.Sprint(t.id))
		}
	}
	h.noteList(several, "multishot triggers: the nth flow that they start waits for the nth line that activates them, not for the nth that is done")
}

// noteList notes names, at most ten of them.
func (h *htsim) noteList(names []string, what string) {
	if more := len(names) - 10; more > 0 {
		names = append(names[:10:10], fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		h.note("%s: %s", what, strings.Join(names, ", "))
	}
}

package imports

import (
	"bytes"
	"fmt"

	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// finished returns the scenario of steps, whose run is as long as all steps one after the other. It
// makes the run shorter if the steps are known to take less: twice as long as they take, about, and 1 ms.
func (l Layout) finished(text []byte, notes []string) (*Imported, error) {
	of, err := parsed(text)
	if err != nil {
		return nil, err
	}
	if takes, ok := l.lasting(of); ok {
		shorter := (2*takes + unit.Millisecond + unit.Microsecond - 1) / unit.Microsecond * unit.Microsecond
		text = bytes.Replace(text, lines(of.Duration), lines(min(of.Duration, shorter)), 1)
	}
	return &Imported{Scenario: text, Notes: notes}, nil
}

// finishedIn is Layout.finished for the layout's own rack, and finished for that of a scenario, whose run is as long as
// that says.
func (l Layout) finishedIn(rack *File, text []byte, notes []string) (*Imported, error) {
	if rack != nil {
		return finished(text, notes)
	}
	return l.finished(text, notes)
}

// lines are the lines of a scenario that set how long the run is. A series has at most 1,000,000 bins, of 50 us unless
// the scenario has others.
func lines(duration unit.Time) []byte {
	b := fmt.Appendf(nil, "\nduration: %s\n", duration)
	if duration > 50*unit.Second {
		b = append(b, "bin: 1ms\n"...)
	}
	return b
}

// timeline runs the steps of a scenario in a rack without congestion: processors run one calculation at a time, and a host
// sends and receives at half of its rate, one message after the other.
type timeline struct {
	s      *topology.Scenario
	layout Layout
	first  []int       // index of the first step of a host, by the order of Steps
	host   []int32     // of a step, the index in Steps
	lacks  []int32     // what a step waits for and is not done
	ready  []unit.Time // when a step begins
	ends   []unit.Time
	after  [][]edge
	due    agenda.Agenda // of the steps that wait for nothing

	processors       map[[2]int]unit.Time // when a processor is free, by host and number
	sending, arrived map[int]unit.Time    // when a host's messages have left and arrived, by node
}

// edge is a step that waits for another one.
type edge struct {
	step  int
	begun bool // it waits for the beginning alone
}

// lasting returns how long the steps of a scenario take, about. It returns false if that is unknown: receives take messages
// of any host or tag, or steps wait for each other.
func (l Layout) lasting(of *topology.Scenario) (longest unit.Time, ok bool) {
	t := &timeline{s: of, layout: l, processors: map[[2]int]unit.Time{}, sending: map[int]unit.Time{}, arrived: map[int]unit.Time{}}
	t.number()
	if !t.connect() {
		return 0, false
	}
	for i, n := range t.lacks {
		if n == 0 {
			t.due.Set(i, 0)
		}
	}
	done := 0
	for ; t.due.Next() != unit.Never; done++ {
		i, _ := t.due.First()
		t.due.Set(i, unit.Never)
		t.run(i)
		longest = max(longest, t.ends[i])
		for _, e := range t.after[i] {
			t.release(i, e)
		}
	}
	return longest, done == len(t.host)
}

// number numbers the steps of all hosts.
func (t *timeline) number() {
	for h := range t.s.Steps {
		t.first = append(t.first, len(t.host))
		for range t.s.Steps[h].Len() {
			t.host = append(t.host, int32(h))
		}
	}
	n := len(t.host)
	t.lacks, t.after = make([]int32, n), make([][]edge, n)
	t.due = agenda.New(n)
	t.ready, t.ends = make([]unit.Time, n), make([]unit.Time, n)
}

// way identifies messages that receives take in order.
type way struct {
	from, to int32
	tag      uint32
}

// connect connects the steps with those that they wait for, and receives with the messages that they take. It returns
// false if one takes any.
func (t *timeline) connect() bool {
	sends := map[way][]int{}
	for i := range t.host {
		h, s := t.at(i)
		for _, c := range h.Conditions(i - t.first[t.host[i]]) {
			t.wait(i, t.first[t.host[i]]+c.Step(), c.Begun())
		}
		if s.Kind == program.Send {
			w := way{int32(h.Node), s.Peer, s.Tag}
			sends[w] = append(sends[w], i)
		}
	}
	for i := range t.host {
		h, s := t.at(i)
		if s.Kind != program.Receive {
			continue
		}
		w := way{s.Peer, int32(h.Node), s.Tag}
		if s.AnyTag || len(sends[w]) == 0 { // nothing is sent by any host
			return false
		}
		t.wait(i, sends[w][0], false)
		sends[w] = sends[w][1:]
	}
	return true
}

// at returns a step and its host.
func (t *timeline) at(i int) (*topology.HostSteps, *program.Step) {
	h := &t.s.Steps[t.host[i]]
	return h, h.At(i - t.first[t.host[i]])
}

func (t *timeline) wait(step, on int, begun bool) {
	t.lacks[step]++
	t.after[on] = append(t.after[on], edge{step, begun})
}

// release counts that a step waits for one step less.
func (t *timeline) release(from int, e edge) {
	at := t.ends[from]
	if e.begun {
		at = t.ready[from]
	}
	t.ready[e.step] = max(t.ready[e.step], at)
	if t.lacks[e.step]--; t.lacks[e.step] == 0 {
		t.due.Set(e.step, t.ready[e.step])
	}
}

// run sets when a step ends.
func (t *timeline) run(i int) {
	h, s := t.at(i)
	t.ends[i] = t.ready[i]
	switch s.Kind {
	case program.Calc:
		on := [2]int{h.Node, int(s.Processor)}
		t.ends[i] = later(max(t.ready[i], t.processors[on]), unit.Time(s.Amount))
		t.processors[on] = t.ends[i]
	case program.Send:
		const header = 200 // bytes, more than those of a packet
		takes := t.layout.Rate.Serialise(2 * unit.Bytes(s.Amount+header))
		to := int(s.Peer)
		t.sending[h.Node] = later(max(t.ready[i], t.sending[h.Node]), takes)
		t.arrived[to] = max(t.sending[h.Node], later(t.arrived[to], takes))
		t.ends[i] = later(t.arrived[to], 8*t.layout.Delay)
	case program.Receive, program.Transfer, program.Arrival: // ends with its message; imports write none of the last two
	}
}

// later returns the instant after a time, which is at most the longest run.
func later(at, takes unit.Time) unit.Time {
	return min(at+min(takes, topology.LongestRun), topology.LongestRun)
}

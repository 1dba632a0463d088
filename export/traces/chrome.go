package traces

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// chromeFile is an object of Chrome's Trace Event Format.
type chromeFile struct {
	Events []chromeEvent  `json:"traceEvents"`
	Unit   string         `json:"displayTimeUnit"`
	Other  map[string]any `json:"otherData"`
}

// chromeEvent is an event: X a slice, i an instant, C a counter, M a name, and s, t and f
// the beginning, the steps and the end of a chain of arrows.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	At    micros         `json:"ts"`
	Took  *micros        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    int            `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// micros is an instant or a span of time in ps, encoded in us.
type micros int64

// MarshalJSON returns a decimal number, which is exact.
func (m micros) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt(nil, int64(m)/1e6, 10)
	rest := int64(m) % 1e6
	if rest < 0 {
		b, rest = append([]byte("-"), strconv.AppendInt(nil, -int64(m)/1e6, 10)...), -rest
	}
	if rest > 0 {
		digits := strconv.AppendInt(nil, 1e6+rest, 10)
		digits[0] = '.'
		b = append(b, digits...)
	}
	return b, nil
}

// chrome makes the events of a file. Every node is a process: its messages, the pauses
// of its ports, and counters of their queues.
type chrome struct {
	data   *Data
	pids   map[string]int // by node
	tids   int            // threads so far; their numbers are unique in the file
	names  []chromeEvent
	events []chromeEvent
	chains [][]int // by message: the indices of the arrows' events
}

// writeChrome writes an object of the format. Instant 0 of the run is time 0.
func (d *Data) writeChrome(w io.Writer) error {
	c := chrome{data: d, pids: map[string]int{}, chains: make([][]int, len(d.Messages))}
	c.addNodes()
	for _, node := range slices.SortedFunc(maps.Keys(c.pids), compareNodes) {
		c.addMessages(node)
		for _, s := range d.Series {
			if s.GetNode() == node && s.GetMetric() == Paused {
				c.addPauses(s)
			}
		}
	}
	c.linkChains()
	for _, s := range d.Series {
		if s.GetMetric() == Queue {
			c.addQueue(s)
		}
	}
	slices.SortStableFunc(c.events, func(a, b chromeEvent) int { return cmp.Compare(a.At, b.At) })
	other := map[string]any{}
	for _, a := range d.identity() {
		other[a.GetKey()], _ = typed(a)
	}
	return encoder(w).Encode(chromeFile{Events: append(c.names, c.events...), Unit: "ns", Other: other})
}

// addNodes makes a process of every node with a span or a series.
func (c *chrome) addNodes() {
	for _, m := range c.data.Messages {
		for _, s := range m.GetSpans() {
			c.pids[s.GetNode()] = 0
		}
	}
	for _, s := range c.data.Series {
		c.pids[s.GetNode()] = 0
	}
	for i, node := range slices.SortedFunc(maps.Keys(c.pids), compareNodes) {
		c.pids[node] = i + 1
		c.name("process_name", i+1, 0, "name", node)
		c.name("process_sort_index", i+1, 0, "sort_index", i)
	}
}

// compareNodes orders nodes by name, and by number if the names differ in that alone: h2
// before h10.
func compareNodes(a, b string) int {
	const digits = "0123456789"
	if x := strings.TrimRight(a, digits); x == strings.TrimRight(b, digits) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// thread adds a thread to the process of a node, and returns its number.
func (c *chrome) thread(node, name string) int {
	c.tids++
	c.name("thread_name", c.pids[node], c.tids, "name", name)
	c.name("thread_sort_index", c.pids[node], c.tids, "sort_index", c.tids)
	return c.tids
}

func (c *chrome) name(kind string, pid, tid int, key string, value any) {
	c.names = append(c.names, chromeEvent{Name: kind, Phase: "M", PID: pid, TID: tid, Args: map[string]any{key: value}})
}

// slice adds a slice between two instants in ps.
func (c *chrome) slice(node string, tid int, name, cat string, from, to int64, args map[string]any) {
	took := micros(to - from)
	c.events = append(c.events, chromeEvent{Name: name, Cat: cat, Phase: "X", At: micros(from), Took: &took, PID: c.pids[node], TID: tid, Args: args})
}

// values returns attributes by key.
func values(list []*rackfabv1.Attribute) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		out[a.GetKey()], _ = typed(a)
	}
	return out
}

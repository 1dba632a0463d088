package e2e

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// traceEvent is an event of Chrome's Trace Event Format.
type traceEvent struct {
	Name, Cat, Ph, BP, S string
	TS, Dur              json.Number // us
	PID, TID, ID         int
	Args                 map[string]any
}

// ps converts a number of us.
func ps(t *testing.T, us json.Number) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(us.String())
	if !ok {
		t.Fatalf("invalid number %q", us)
	}
	if r.Mul(r, big.NewRat(1e6, 1)); !r.IsInt() {
		t.Fatalf("%s us is no whole number of ps", us)
	}
	return r.Num().Int64()
}

type thread struct{ pid, tid int }

// chromeTrace is a file by the kinds of its events.
type chromeTrace struct {
	processes map[int]string
	threads   map[thread]string
	slices    map[thread][]traceEvent
	arrows    map[int][]traceEvent
	counters  int
}

// readChrome reads a file and checks each event by itself: "Trace Event Format",
// sections "JSON Object Format" and "Event Descriptions".
func readChrome(t *testing.T, text []byte) *chromeTrace {
	t.Helper()
	var f struct {
		TraceEvents     []traceEvent
		DisplayTimeUnit string
		OtherData       map[string]any
	}
	strictly(t, text, &f)
	if f.DisplayTimeUnit != "ns" || f.OtherData["rackfab.scheme"] != "pcn" {
		t.Errorf("%q, %v", f.DisplayTimeUnit, f.OtherData)
	}
	c := &chromeTrace{map[int]string{}, map[thread]string{}, map[thread][]traceEvent{}, map[int][]traceEvent{}, 0}
	before := int64(0)
	for _, e := range f.TraceEvents {
		on, at := thread{e.PID, e.TID}, ps(t, e.TS)
		if at < before {
			t.Fatalf("%v is out of order", e)
		}
		before = at
		switch e.Ph {
		case "M":
			switch name, _ := e.Args["name"].(string); e.Name {
			case "process_name":
				c.processes[e.PID] = name
			case "thread_name":
				c.threads[on] = name
			}
		case "X":
			c.slices[on] = append(c.slices[on], e)
		case "i":
			if e.S != "t" {
				t.Errorf("%v has no scope", e)
			}
		case "C":
			if _, ok := e.Args["bytes"].(float64); !ok || len(e.Args) != 1 {
				t.Errorf("%v has no value", e)
			}
			c.counters++
		case "s", "t", "f":
			c.arrows[e.ID] = append(c.arrows[e.ID], e)
		default:
			t.Errorf("%v: unknown phase", e)
		}
		if e.Ph != "M" && c.processes[e.PID] == "" || strings.Contains("Xistf", e.Ph) && c.threads[on] == "" {
			t.Fatalf("%v has no name of its process or thread", e)
		}
	}
	return c
}

// checkChrome checks a file against the store.
func checkChrome(t *testing.T, text []byte, want *content) {
	c := readChrome(t, text)
	if c.counters == 0 {
		t.Error("there are no counters of queues")
	}
	spans, paused := map[string]bool{}, map[string]int64{}
	for on, list := range c.slices {
		checkNesting(t, c.threads[on], list)
		for _, e := range list {
			if e.Cat == "pause" {
				paused[c.processes[on.pid]+": "+c.threads[on]] += ps(t, e.Dur)
				continue
			}
			spans[e.Args["trace_id"].(string)+e.Args["span_id"].(string)+c.processes[on.pid]] = true
		}
	}
	stored := 0
	want.spans(func(trace string, s *rackfabv1.Span) {
		stored++
		if !spans[trace+s.GetSpanId()+s.GetNode()] {
			t.Fatalf("the file lacks span %s of %s", s.GetSpanId(), s.GetNode())
		}
	})
	if len(spans) != stored {
		t.Errorf("%d spans, want %d", len(spans), stored)
	}
	sums := 0
	for _, s := range want.series {
		sum := int64(0)
		for _, v := range s.GetValues() {
			sum += int64(v)
		}
		name := fmt.Sprintf("%s: port %d paused by %s", s.GetNode(), s.GetPort(), s.GetPeer())
		if paused[name] != sum {
			t.Errorf("%s: %d ps, want %d", name, paused[name], sum)
		}
		if sum > 0 {
			sums++
		}
	}
	if sums == 0 || len(paused) != sums {
		t.Errorf("%d ports with pauses, want %d", len(paused), sums)
	}
	checkArrows(t, c, want)
}

// checkNesting checks that slices of a thread nest, at the resolution of Perfetto.
func checkNesting(t *testing.T, name string, list []traceEvent) {
	t.Helper()
	var ends []int64
	for _, e := range list {
		from := ps(t, e.TS) / 1000
		to := from + ps(t, e.Dur)/1000
		for len(ends) > 0 && ends[len(ends)-1] <= from {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && to > ends[len(ends)-1] {
			t.Fatalf("%s: %v overlaps another slice", name, e)
		}
		ends = append(ends, to)
	}
}

// checkArrows checks that the arrows of every message begin, pass and end at its slices.
func checkArrows(t *testing.T, c *chromeTrace, want *content) {
	t.Helper()
	if len(c.arrows) != len(want.traces) {
		t.Errorf("arrows of %d messages, want %d", len(c.arrows), len(want.traces))
	}
	for id, chain := range c.arrows {
		trace := ""
		for i, e := range chain {
			phase, bind := "t", ""
			switch i {
			case 0:
				phase = "s"
			case len(chain) - 1:
				phase, bind = "f", "e"
			}
			if e.Ph != phase || e.BP != bind {
				t.Fatalf("arrow %d of %d of %d: %v", i, len(chain), id, e)
			}
			at := slices.IndexFunc(c.slices[thread{e.PID, e.TID}], func(s traceEvent) bool {
				of, _ := s.Args["trace_id"].(string)
				return s.TS == e.TS && (trace == "" || of == trace)
			})
			if at < 0 {
				t.Fatalf("%v begins at no slice of the message", e)
			}
			trace, _ = c.slices[thread{e.PID, e.TID}][at].Args["trace_id"].(string)
		}
	}
}

package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// By default, data has DSCP 26 in class 3, the class selectors are in their classes,
// and all other code points in class 0.
func TestDefaultCodePoints(t *testing.T) {
	m := parsed(t, sample).DSCPMap()
	for dscp, class := range m {
		want := fabric.Priority(0)
		switch {
		case dscp == 26:
			want = 3
		case dscp%8 == 0:
			want = fabric.Priority(dscp / 8)
		}
		if class != want {
			t.Errorf("DSCP %d is in class %d, want %d", dscp, class, want)
		}
	}
}

func TestCodePointsOfClasses(t *testing.T) {
	for _, c := range []struct {
		dscp  string
		class fabric.Priority
		want  uint8
	}{
		{"{}", 3, 26},
		{"{}", 6, 48},
		{"{}", 0, 0},
		{"{10: 1}", 1, 8},        // the class selector is still in the class
		{"{8: 0, 10: 1}", 1, 10}, // the class selector is in another class
		{"{26: 4}", 3, 24},
		{"{26: 4}", 4, 32},
		{"{26: 4, 32: 0}", 4, 26},
		{"{40: 0, 46: 5, 44: 5}", 5, 44},
	} {
		s := parsed(t, edited(t, "scheme: pcn", "scheme: pcn\ndscp: "+c.dscp))
		same(t, s)
		if got, ok := s.CodePoint(c.class); !ok || got != c.want {
			t.Errorf("%s: class %d has DSCP %d, %v, want %d", c.dscp, c.class, got, ok, c.want)
		}
	}
	s := parsed(t, edited(t, "buffer: 12MB", "buffer: 12MB, dscp: {26: 5, 10: 2}"))
	if m, at := s.DSCPMap(), s.DSCPMapAt(5); m[26] != 3 || at[26] != 5 || at[10] != 2 || at[48] != 6 {
		t.Errorf("26 is in class %d at NICs, %d at s0", m[26], at[26])
	}
	if diff := cmp.Diff(parsed(t, edited(t, "scheme: pcn", "scheme: pcn\ndscp: {10: 1}")), mustWith(t, "dscp={10: 1}")); diff != "" {
		t.Error(diff)
	}
}

const classed = `name: classed
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h2: }
switches: {s0: }
links: [{endpoints: [h0..h2, s0]}]
flows: [{name: F, from: h0, to: h1, size: 1KB, class: 1}]
bursts: [{name: b, from: h0..h1, to: h2, size: 1KB, at: 1us, class: 2}]
workloads: [{name: w, sizes: [[0B, 0], [1KB, 80], [10KB, 100]], load: 0.1, class: 4}]
commands: [{name: c, verb: put, from: h0, to: h2, size: 1KB, class: 5}]
changes:
  - {at: 2us, burst: {name: late, from: h0, to: h1, size: 1KB, class: 0}}
  - {at: 3us, burst: {name: plain, from: h0, to: h1, size: 1KB}}
`

// Every flow has the class of its entry or burst, and so does the manifest.
func TestFlowsHaveClasses(t *testing.T) {
	s := parsed(t, classed)
	same(t, s)
	want := map[string]fabric.Priority{"F": 1, "b": 2, "w": 4, "late": 0, "plain": topology.DataClass}
	seen := map[string]bool{}
	for _, f := range s.Flows {
		name := strings.Split(f.Name, "/")[0]
		seen[name] = true
		if f.Class != want[name] {
			t.Fatalf("%s is in class %d, want %d", f.Name, f.Class, want[name])
		}
	}
	if len(seen) != len(want) {
		t.Errorf("flows of %v", seen)
	}
	if list := s.Connections(); len(list) != 1 || list[0].Class != 5 {
		t.Errorf("%+v", list)
	}
	moved := mustParseWith(t, classed, "burst.class=7", "F.class=0", "w.class=1")
	if moved.Flows[0].Class != 0 || moved.Flows[1].Class != 7 || moved.Bursts[0].Class != 7 || moved.Workloads[0].Class != 1 {
		t.Errorf("after settings: %+v", moved.Flows[:3])
	}
}

func mustParseWith(t *testing.T, text string, settings ...string) *topology.Scenario {
	t.Helper()
	var list []topology.Setting
	for _, one := range settings {
		key, value, _ := strings.Cut(one, "=")
		list = append(list, topology.Setting{Key: key, Value: value})
	}
	s, err := ParseWith("f", []byte(text), list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFaultsOfCodePointsAndClasses(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"scheme: pcn", "scheme: pcn\ndscp: {64: 1}", `dscp: DSCP "64" is not an integer from 0 to 63`},
		{"scheme: pcn", "scheme: pcn\ndscp: {1: 8}", `dscp: DSCP 1: "8" is not an integer from 0 to 7`},
		{"scheme: pcn", "scheme: pcn\ndscp: [1]", "dscp: want a mapping from DSCP to class, like {26: 3, 48: 6}, not a list"},
		{"scheme: pcn", "scheme: pcn\ndscp: {26: 0, 24: 0}", "dscp: no DSCP maps to class 3, want one in dscp, like {24: 3}"},
		{"scheme: pcn", "scheme: pcn\ndscp: {48: 0}", "control_class: no DSCP maps to class 6, want one in dscp, like {48: 6}"},
		{"size: 1MB", "size: 1MB, class: 8", `flows[0].class: "8" is not an integer from 0 to 7`},
		{"size: 1MB", "size: 1MB, class: 6", "flows[0].class: 6 is the class of ACK, NAK and CNP at h0 (control_class), want another"},
		{"at: 100us", "at: 100us, class: 6", "bursts[0].class: 6 is the class of ACK, NAK and CNP at h1 (control_class), want another"},
		{"payload: 1000B", "payload: 1000B, control_class: 3", "flows[0].class: 3 is the class of ACK, NAK and CNP at h0"},
		{"buffer: 12MB", "buffer: 12MB, dscp: {26: 9}", `dscp: DSCP 26: "9" is not an integer from 0 to 7`},
		{
			"scheme: pcn", "scheme: pcn\ndscp: {40: 0}\ncommands: [{name: c, verb: put, from: h0, to: r0, size: 1KB, class: 5}]",
			"commands[0].class: no DSCP maps to class 5, want one in dscp, like {40: 5}",
		},
	} {
		_, err := Parse("f", []byte(edited(t, c.old, c.with)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.with, err, c.want)
		}
	}
	text := edited(t, "size: 1MB", "size: 1MB, class: 6")
	if _, err := Parse("f", []byte(strings.Replace(text, "payload: 1000B", "payload: 1000B, control_class: 5", 1))); err == nil || strings.Count(err.Error(), "\n") != 0 ||
		!strings.Contains(err.Error(), "at r0") {
		t.Errorf("%v", err)
	}
}

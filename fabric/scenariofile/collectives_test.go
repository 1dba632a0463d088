package scenariofile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// collected is a file with collectives. Tests replace its parts with invalid ones.
const collected = `name: collected
duration: 1ms
nics: {h0..h4: }
switches: {s0: }
links:
  - {endpoints: [h0..h4, s0], rate: 40Gbps, delay: 1us}
programs:
  h1: |
    calc 5us on 2
    receive from h4
  h4: send 1KB to h1
collectives:
  - {name: sum, kind: all-reduce, ranks: [h1, h0, h3], size: 3MB, channels: 2, chunks: 4}
  - {name: swap, kind: all-to-all, ranks: h0..h2, size: 1MB, at: 5us, after: [sum], class: 4}
  - {name: sync, kind: barrier, ranks: h0..h3, algorithm: halving-doubling, after: [swap, sum]}
`

func TestCollectivesAreRead(t *testing.T) {
	s := parsed(t, collected)
	want := []topology.Collective{
		{Name: "sum", Spec: collective.Spec{Kind: "all-reduce", Algorithm: "ring", Ranks: 3, Size: 3e6, Channels: 2, Chunks: 4}, Nodes: []int{1, 0, 3}, Class: 3, Tag: 1 << 31},
		{Name: "swap", Spec: collective.Spec{Kind: "all-to-all", Algorithm: "direct", Ranks: 3, Size: 1e6, Channels: 1, Chunks: 1}, Nodes: []int{0, 1, 2}, At: 5 * unit.Microsecond, After: []string{"sum"}, Class: 4, Tag: 1<<31 + 96},
		{Name: "sync", Spec: collective.Spec{Kind: "barrier", Algorithm: "halving-doubling", Ranks: 4, Channels: 1, Chunks: 1}, Nodes: []int{0, 1, 2, 3}, After: []string{"swap", "sum"}, Class: 3, Tag: 1<<31 + 96 + 6},
	}
	if d := cmp.Diff(want, s.Collectives); d != "" {
		t.Fatal(d)
	}
	h := s.StepsOf(1)
	// 2(n-1) sends and receives of rank 0 in each of 8 chunks; 2 of each to two others; 2 of each at two distances
	if d := cmp.Diff([]topology.Share{
		{Collective: 0, Rank: 0, First: 3, End: 3 + 8*2*4}, {Collective: 1, Rank: 1, First: 70, End: 70 + 4}, {Collective: 2, Rank: 1, First: 77, End: 77 + 4},
	}, h.Shares); d != "" {
		t.Fatal(d)
	}
	if h.Len() != 82 || len(h.Labels) != h.Len() {
		t.Errorf("%d steps, %d labels", h.Len(), len(h.Labels))
	}
	if got, want := s.Describe(h, 3), "send to h0 message 0 of sum"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := s.Describe(h, 80), "receive from h3 message 7 of sync"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The end waits for the steps that no other one waits for.
	for _, share := range h.Shares {
		for _, c := range h.Conditions(share.End) {
			for k := share.First; k < share.End; k++ {
				if slices.Contains(h.Conditions(k), c) {
					t.Errorf("step %d, the end, waits for step %d, as step %d does", share.End, c.Step(), k)
				}
			}
		}
	}
	// The first wait has a processor that no program uses; a later one waits for the end of sum.
	if d := cmp.Diff(&program.Step{Kind: program.Calc, Peer: -1, Processor: 3}, h.At(2)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&program.Step{Kind: program.Calc, Peer: -1, Processor: 4, Amount: int64(5 * unit.Microsecond)}, h.At(68)); d != "" {
		t.Error(d)
	}
	for step, want := range map[int]string{3: "[2]", 68: "[]", 69: "[67 68]", 70: "[69]", 74: "[70 71 72 73]", 76: "[74 67 75]"} {
		got := []int{}
		for _, c := range h.Conditions(step) {
			got = append(got, c.Step())
		}
		if fmt.Sprint(got) != want {
			t.Errorf("step %d waits for %v, want %s", step, got, want)
		}
	}
}

// waiting is a file with a program that waits for a collective, which waits for the program.
const waiting = `name: joined
duration: 1ms
nics: {h0..h2: }
switches: {s0: }
links:
  - {endpoints: [h0..h2, s0], rate: 40Gbps, delay: 1us}
programs:
  h0: |
    late: calc 5us after sum, first
    first: calc 1us
    calc 2us once_started sum
  h1: |
    first: calc 7us
    second: calc 9us on 3
collectives:
  - {name: sum, kind: all-reduce, ranks: h0..h2, size: 3MB, after: [first, second]}
  - {name: swap, kind: all-to-all, ranks: h0..h1, size: 1MB, after: [late, sum]}
`

// COLL-11: A step waits for the rank's part of a collective, and a collective at each rank for the steps of that rank.
func TestProgramsAndCollectivesWaitForEachOther(t *testing.T) {
	s := parsed(t, waiting)
	for _, tt := range []struct {
		host, step int
		want       string
	}{
		{0, 0, "done 1, done 13"},
		{0, 1, ""},
		{0, 2, "done 4"}, // 4 ends when sum may begin, 13 when it is done
		{0, 3, ""},
		{0, 4, "done 1, done 3"},
		{0, 15, "done 0, done 13, done 14"},
		{1, 3, "done 0, done 1, done 2"},
		{1, 14, "done 12, done 13"},
		{2, 1, "done 0"}, // without a program
	} {
		var got []string
		for _, c := range s.StepsOf(tt.host).Conditions(tt.step) {
			got = append(got, fmt.Sprintf("%s %d", map[bool]string{true: "begun", false: "done"}[c.Begun()], c.Step()))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("h%d step %d waits for %v, want %s", tt.host, tt.step, got, tt.want)
		}
	}
	if h := s.StepsOf(0); h.Shares[0].End != 13 || h.Shares[0].First != 5 {
		t.Errorf("%+v", h.Shares)
	}
}

// Tags of a collective follow those of the one before, and messages are called by their collective.
func TestTagsOfCollectivesAreApart(t *testing.T) {
	s := parsed(t, collected)
	owner := map[uint32]int{}
	for i := range s.Steps {
		h := &s.Steps[i]
		for _, share := range h.Shares {
			for k := share.First; k < share.End; k++ {
				tag := h.At(k).Tag
				if first, taken := owner[tag]; taken && first != share.Collective {
					t.Fatalf("tag %d is that of collectives %d and %d", tag, first, share.Collective)
				}
				owner[tag] = share.Collective
				if want := " of " + s.Collectives[share.Collective].Name; !strings.HasSuffix(s.Describe(h, k), want) {
					t.Fatalf("%s, want %s", s.Describe(h, k), want)
				}
			}
		}
	}
	if len(owner) != 96+6+8 {
		t.Errorf("%d tags", len(owner))
	}
}

// Collectives without an instant share a processor; a rank may have more of them than processors.
func TestManyCollectivesOfARank(t *testing.T) {
	const n = program.MaxProcessors + 100
	text := []byte(waiting)
	for i := range n {
		text = fmt.Appendf(text, "  - {name: again%d, kind: barrier, ranks: h0..h1}\n", i)
	}
	s := parsed(t, string(text))
	if len(s.Collectives) != n+2 || s.StepsOf(0).Len() != 3+11+5+4*n {
		t.Errorf("%d collectives, %d steps", len(s.Collectives), s.StepsOf(0).Len())
	}
}

// A rank that has no part in an earlier collective does not wait for it.
func TestRanksWaitForTheirOwnParts(t *testing.T) {
	s := parsed(t, collected)
	h := s.StepsOf(2)
	if h.Len() != 1+4+1+2+4+1 || h.Shares[0].First != 1 {
		t.Errorf("%d steps, %+v", h.Len(), h.Shares)
	}
}

// Messages of another class than the default have flows of their own.
func TestCollectivesTakeAFlowPerClass(t *testing.T) {
	s := parsed(t, collected)
	classes := map[string]int{}
	for _, f := range s.Flows {
		if _, twice := classes[f.Name]; twice {
			t.Errorf("two flows %s", f.Name)
		}
		classes[f.Name] = int(f.Class)
	}
	for name, want := range map[string]int{"h1>h0": 3, "h1>h0/class4": 4, "h4>h1": 3, "h2>h0/class4": 4, "h2>h0": 3} {
		if got := classes[name]; got != want {
			t.Errorf("%s: class %d, want %d", name, got, want)
		}
	}
}

func TestCollectivesRoundTrip(t *testing.T) {
	s := parsed(t, collected)
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, parsed(t, string(text)), cmp.AllowUnexported(program.Program{})); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
}

// dispatched is a file with an all-to-allv, of which h2 has no data, and a barrier after it.
const dispatched = `name: dispatched
duration: 1ms
nics: {h0..h2: }
switches: {s0: }
links:
  - {endpoints: [h0..h2, s0], rate: 40Gbps, delay: 1us}
collectives:
  - name: dispatch
    kind: all-to-allv
    ranks: h0..h2
    at: 5us
    sizes:
      - [1KB, 20KB, 0]
      - [3KB, 0B, 0B]
      - [0, 0, 0]
  - {name: sync, kind: barrier, ranks: h0..h2, after: [dispatch]}
`

func TestAllToAllVIsRead(t *testing.T) {
	s := parsed(t, dispatched)
	want := collective.Sizes{{1000, 20000, 0}, {3000, 0, 0}, {0, 0, 0}}
	if c := s.Collectives[0]; cmp.Diff(want, c.Sizes) != "" || c.Algorithm != collective.Direct || c.Data() != 21000 {
		t.Errorf("%+v", c)
	}
	h := s.StepsOf(0)
	if h.Shares[0].End-h.Shares[0].First != 2 || s.Describe(h, 1) != "send to h1 message 0 of dispatch" || h.At(1).Amount != 20000 {
		t.Errorf("%+v, %s of %d bytes", h.Shares[0], s.Describe(h, 1), h.At(1).Amount)
	}
	// A rank without data does its part when the collective begins.
	if h = s.StepsOf(2); h.Shares[0].First != h.Shares[0].End || len(h.Conditions(h.Shares[0].End)) != 1 || h.Conditions(1)[0] != program.Done(0) {
		t.Errorf("%+v, the end waits for %v", h.Shares[0], h.Conditions(h.Shares[0].End))
	}
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, parsed(t, string(text)), cmp.AllowUnexported(program.Program{})); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	s, err = ParseWith("f.yaml", []byte(dispatched), []topology.Setting{{Key: "dispatch.sizes", Value: "[[0,0,0],[0,0,7MB],[0,0,0]]"}})
	if err != nil || s.Collectives[0].Sizes[1][2] != 7e6 {
		t.Errorf("%v, %v", s.Collectives, err)
	}
}

func TestFaultsOfSizes(t *testing.T) {
	for _, tt := range [][3]string{
		{"- [3KB, 0B, 0B]", "- [3KB, 0B]", "12: collectives[0].sizes: 2 sizes in the row of rank 1, want one for each of the 3 ranks"},
		{"- [3KB, 0B, 0B]", "- [3KB, 0B, 0B]\n      - [0, 0, 0]", "12: collectives[0].sizes: 4 rows, want one of each of the 3 ranks"},
		{"- [3KB, 0B, 0B]", "- [3KB, -1B, 0B]", "collectives[0].sizes: -1B is out of range, want 0B to"},
		{"- [3KB, 0B, 0B]", "- 3KB", "collectives[0].sizes: want a size for each rank in each row, like"},
		{"kind: all-to-allv", "kind: all-to-all", "collectives[0].sizes: only an all-to-allv has sizes, want none for all-to-all"},
		{"kind: barrier", "kind: barrier, sizes: [[0, 1B]]", "collectives[1].sizes: only an all-to-allv has sizes, want none for barrier"},
	} {
		_, err := Parse("f.yaml", []byte(strings.Replace(dispatched, tt[0], tt[1], 1)))
		if err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%s: got %v, want %s", tt[1], err, tt[2])
		}
	}
}

// A scenario has a limited number of collectives, and these of messages.
func TestLimitsOfCollectives(t *testing.T) {
	for _, tt := range []struct {
		collectives, messages int
		want                  string
	}{
		{topology.MaxCollectives - 1, topology.MaxCollectiveMessages - 2, ""},
		{topology.MaxCollectives, 0, "one too many, want at most 65536"},
		{0, topology.MaxCollectiveMessages - 1, "have 67108865 messages, want at most 67108864"},
	} {
		b := builder{messages: tt.messages}
		b.s.Collectives = make([]topology.Collective, tt.collectives)
		b.checkCollectives(&topology.Collective{Spec: collective.Spec{Kind: collective.Broadcast, Algorithm: collective.Ring, Ranks: 3, Channels: 1, Chunks: 1}}, newSource("collectives[0]", 1))
		if got := fmt.Sprint(b.list); b.faulty() != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// Settings change collectives, so that a sweep can compare sizes and algorithms.
func TestSettingsOfCollectives(t *testing.T) {
	s, err := ParseWith("f.yaml", []byte(collected), []topology.Setting{{Key: "sum.size", Value: "6MB"}, {Key: "sum.algorithm", Value: "direct"}, {Key: "collective.at", Value: "7us"}})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Collectives[0]; c.Size != 6e6 || c.Algorithm != collective.Direct || c.At != 7*unit.Microsecond {
		t.Errorf("%+v", c)
	}
}

func TestFaultsOfCollectives(t *testing.T) {
	tests := []struct{ name, old, with, want string }{
		{"kind", "kind: all-reduce", "kind: reduce", `13: collectives[0].kind: "reduce" is unknown, want one of all-reduce, all-gather`},
		{"algorithm", "kind: all-to-all", "kind: all-to-all, algorithm: ring", `14: collectives[1].algorithm: "ring" is not for all-to-all, want one of [direct]`},
		{"unknown algorithm", "algorithm: halving-doubling", "algorithm: tree", `15: collectives[2].algorithm: "tree" is unknown, want one of direct, double-binary-tree, halving-doubling, ring`},
		{"power of two", "ranks: h0..h3", "ranks: h0..h2", "15: collectives[2].ranks: 3 ranks, want a power of two for halving-doubling"},
		{"one rank", "[h1, h0, h3]", "h1", "13: collectives[0].ranks: 1 ranks, want 2 to 4096"},
		{"rank twice", "[h1, h0, h3]", "[h1, h0, h1]", `13: collectives[0].ranks: "h1,h0,h1" contains h1 twice`},
		{"switch", "[h1, h0, h3]", "[h1, s0]", "13: collectives[0].ranks: s0 is a switch, want a NIC"},
		{"size", "size: 3MB", "size: 23B", "13: collectives[0].size: 23B, want 24B to"},
		{"no size", ", size: 3MB", "", "13: collectives[0].size: 0B, want 24B to"},
		{"size of a barrier", "kind: barrier", "kind: barrier, size: 1KB", "15: collectives[2].size: 1KB, want none for a barrier"},
		{"channels", "channels: 2", "channels: 33", `13: collectives[0].channels: "33" is not an integer from 1 to 32`},
		{"chunks", "chunks: 4", "chunks: 0", `13: collectives[0].chunks: "0" is not an integer from 1 to 1024`},
		{"start", "at: 5us", "at: 1ms", "14: collectives[1].at: 1ms is not before the end of the run"},
		{"after itself", "after: [sum]", "after: [swap]", "14: collectives[1].after: no collective above is called swap"},
		{"after a later one", "after: [sum]", "after: [sync]", "14: collectives[1].after: no collective above is called sync"},
		{"after that of others", "ranks: h0..h2", "ranks: [h2, h4]", "14: collectives[1].after: sum has none of the ranks"},
		{"class", "class: 4", "class: 6", "14: collectives[1].class: 6 is the class of ACK, NAK and CNP at h0"},
		{"name", "name: swap", "name: sum", "14: collectives[1].name: sum is already the name of collectives[0] on line 13"},
		{"any tag", "receive from h4", "receive from h4 tag any", "13: collectives[0].ranks: a step of h1 receives messages with any tag"},
		{"processors", "on 2", "on 4095", "13: collectives[0].ranks: h1 has no processor left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { replaced(t, collected, tt.old, tt.with, tt.want) })
	}
	// Those that wait for a collective with a fault have none themselves.
	_, err := Parse("f.yaml", []byte(strings.Replace(collected, "[h1, h0, h3]", "h1", 1)))
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("want one fault: %v", err)
	}
}

// replaced checks the fault of a file of which a part is replaced.
func replaced(t *testing.T, file, old, with, want string) {
	t.Helper()
	if strings.Count(file, old) != 1 {
		t.Fatalf("%q occurs %d times", old, strings.Count(file, old))
	}
	_, err := Parse("f.yaml", []byte(strings.Replace(file, old, with, 1)))
	if err == nil || !strings.Contains(err.Error(), "f.yaml:"+want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestFaultsOfProgramsWithCollectives(t *testing.T) {
	tests := []struct{ name, old, with, want string }{
		{"unknown step", "[first, second]", "[first, third]", "16: collectives[0].after: no collective above is called third, and no rank has a step third"},
		{"step of no rank", "ranks: h0..h2, size: 3MB", "ranks: [h0, h2], size: 3MB", "16: collectives[0].after: no collective above is called second, and no rank has a step second"},
		{"not a rank", "second: calc 9us on 3", "second: calc 9us on 3\n  h2: calc 1us after swap", "15: programs.h2: waits for swap, which is neither a step of h2 nor a collective of which it is a rank"},
		{"cycle", "first: calc 1us", "first: calc 1us after sum", "10: programs.h0: steps on 2 lines wait for each other, this one is the first"},
		{"label and collective", "first: calc 7us", "swap: calc 7us", "17: collectives[1].name: swap is the label of a step of h1"},
		{"all faults", "calc 2us once_started sum", "calc 2 once_started sums", "11: programs.h0: time 2, want 0 to"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { replaced(t, waiting, tt.old, tt.with, tt.want) })
	}
	// A step that waits for a collective with a fault has none itself, and a collective none for steps of a
	// program with one.
	for _, bad := range []string{strings.Replace(waiting, "3MB", "2B", 1), strings.Replace(waiting, "9us on 3", "9 on 3", 1)} {
		if _, err := Parse("f.yaml", []byte(bad)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("want one fault: %v", err)
		}
	}
}

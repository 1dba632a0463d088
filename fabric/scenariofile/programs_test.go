package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// programmed is a file with programs. Tests replace its lines with invalid ones.
const programmed = `name: programmed
duration: 1ms
nics: {h0..h3: }
switches: {s0: }
links:
  - {endpoints: [h0..h3, s0], rate: 40Gbps, delay: 1us}
programs:
  h0: |
    # the first host
    s: send 1MB to h1 tag 3

    r: receive from h1
    calc 5us on 2 after s, r once_started later
    later: calc 0s
  h1: |
    receive from any tag any
    a: send 1KB to h0
  "h2,h3": send 4KB to h0 tag 9
`

func TestProgramsAreRead(t *testing.T) {
	s := parsed(t, programmed)
	var hosts []string
	for _, h := range s.Steps {
		hosts = append(hosts, s.Nodes[h.Node].Name)
	}
	if got := strings.Join(hosts, " "); got != "h0 h1 h2 h3" {
		t.Fatalf("programs of %s", got)
	}
	h0, h1 := &s.Steps[0], &s.Steps[1]
	want := []program.Step{
		{Kind: program.Send, Peer: 1, Tag: 3, Amount: 1e6},
		{Kind: program.Receive, Peer: 1},
		{Kind: program.Calc, Peer: -1, Amount: int64(5 * unit.Microsecond), Processor: 2},
		{Kind: program.Calc, Peer: -1},
	}
	for i, w := range want {
		if d := cmp.Diff(&w, h0.At(i)); d != "" {
			t.Errorf("step %d:\n%s", i, d)
		}
	}
	if d := cmp.Diff([]program.Condition{program.Done(0), program.Done(1), program.Begun(3)}, h0.Conditions(2)); d != "" {
		t.Error(d)
	}
	if r := h1.At(0); r.Peer != program.AnyHost || !r.AnyTag {
		t.Errorf("%+v", r)
	}
	if got := s.Label(h0, 0) + ", " + s.Label(h0, 2) + ", " + s.Label(h1, 0); got != "s, calc on processor 2, receive from any tag any" {
		t.Errorf("labels %q", got)
	}
}

// Hosts have one flow to each host to which they send, whatever the number of messages.
func TestProgramsTakeAFlowPerPair(t *testing.T) {
	s := parsed(t, strings.Replace(programmed, "a: send", "send 8KB to h0\n    a: send", 1))
	var names []string
	for _, f := range s.Flows {
		names = append(names, f.Name)
		if f.Size != topology.Posted || !s.Bursts[f.Burst].Programs {
			t.Errorf("%+v", f)
		}
	}
	if got := strings.Join(names, " "); got != "h0>h1 h1>h0 h2>h0 h3>h0" || s.Bursts[0].Flows != 4 {
		t.Errorf("flows %s", got)
	}
	h1 := &s.Steps[1]
	if a, b := h1.At(1).Flow, h1.At(2).Flow; a != 1 || b != 1 {
		t.Errorf("flows %d and %d, want 1", a, b)
	}
}

func TestProgramsRoundTrip(t *testing.T) {
	s := parsed(t, programmed)
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, parsed(t, string(text)), cmp.AllowUnexported(program.Program{})); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
}

// PROG-3, PROG-4: Receives that nothing sends, unknown steps and cycles of one host are refused.
func TestFaultsOfPrograms(t *testing.T) {
	tests := []struct{ name, old, with, want string }{
		{"no step", "s: send", "s: sends", `10: programs.h0: invalid step "sends 1MB to h1 tag 3", want [label:] send`},
		{"size", "1MB", "0B", "10: programs.h0: size 0B, want 1B to 2.147483648GB"},
		{"NIC", "to h1 tag 3", "to h9 tag 3", "10: programs.h0: unknown NIC h9"},
		{"switch", "to h1 tag 3", "to s0 tag 3", "10: programs.h0: s0 is a switch, want a NIC"},
		{"itself", "to h1 tag 3", "to h0 tag 3", "10: programs.h0: h0 would exchange messages with itself"},
		{"tag", "tag 3", "tag 2147483648", "10: programs.h0: tag 2147483648, want 0 to 2147483647"},
		{"tag without number", "tag 3", "tag", "10: programs.h0: tag without a number, want 0 to 2147483647"},
		{"word", "tag 3", "tagged", `10: programs.h0: "tagged" after the step, want`},
		{"time", "5us", "5", "13: programs.h0: time 5, want 0 to 1000s"},
		{"processor", "on 2", "on 4096", "13: programs.h0: processor 4096, want 0 to 4095"},
		{"no name", "after s, r", "after", "13: programs.h0: after without a name, want"},
		{"no name before another keyword", "after s, r", "after once_started s", "13: programs.h0: after without a name, want"},
		{"names without a blank", "after s, r", "after s,q", "13: programs.h0: waits for q, which is neither"},
		{"unknown label", "after s, r", "after s, q", "13: programs.h0: waits for q, which is neither a step of h0 nor a collective of which it is a rank"},
		{"label twice", "r: receive", "s: receive", "12: programs.h0: label s is already that of line 10"},
		{"label", "r: receive from h1\n    calc 5us on 2 after s, r", "R/: receive from h1\n    calc 5us", "12: programs.h0: label R/ must match"},
		{"cycle", "later: calc 0s", "later: calc 0s after r2\n    r2: calc 0s after later", "14: programs.h0: steps on 2 lines wait for each other, this one is the first"},
		{"nothing sends", "receive from any tag any", "receive from h0 tag 3\n    receive from h0 tag 4", "17: programs.h1: receive from h0 tag 4: nothing sends this message"},
		{"one message for two", "receive from any tag any", "receive from h0 tag 3\n    receive from h0 tag 3", "17: programs.h1: receive from h0 tag 3: nothing sends this message"},
		{"two programs", `"h2,h3"`, `"h1,h3"`, "18: programs.h1,h3: h1 already has a program"},
		{"switch", `"h2,h3"`, `s0`, "18: programs.s0: s0 is a switch, want a NIC"},
		{"no text", "h1: |\n    receive from any tag any\n    a: send 1KB to h0", "h1: [a]", "programs.h1: want text with a step on each line, not"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(programmed, tt.old) != 1 {
				t.Fatalf("%q occurs %d times", tt.old, strings.Count(programmed, tt.old))
			}
			_, err := Parse("f.yaml", []byte(strings.Replace(programmed, tt.old, tt.with, 1)))
			if err == nil || !strings.Contains(err.Error(), "f.yaml:"+tt.want) && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	// All faults come at once.
	both := strings.NewReplacer("1MB", "0B", "on 2", "on x").Replace(programmed)
	if _, err := Parse("f.yaml", []byte(both)); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two faults", err)
	}
}

// The last packet of a program's message has 4 bytes of immediate data over RoCEv2, and none over UET. NICs without
// a program send none.
func TestTagsFitTheLinks(t *testing.T) {
	for _, c := range []struct{ scheme, mtu, payload, want string }{
		{"pcn", "1090B", "1000B", ""},
		{"pcn", "1089B", "1000B", "4: nics.h0..h3.payload: a payload of 1000B needs frames of 1090B with the immediate data of its program, above the mtu of 1089B of link h0-s0: want a payload of at most 996B"},
		{"hpcc", "1109B", "1000B", "a payload of 1000B needs frames of 1110B with the load of their path under the scheme hpcc with the immediate data of its program"},
		{"hpcc", "1110B", "1000B", ""},
		{"nscc", "1106B", "1000B", ""},
		{"nscc", "1105B", "1000B", "a payload of 1000B needs frames of 1106B, above"},
	} {
		text := strings.NewReplacer("{h0..h3: }", "{h0..h3: {payload: "+c.payload+"}}", "delay: 1us", "delay: 1us, mtu: "+c.mtu,
			"duration: 1ms\n", "duration: 1ms\nscheme: "+c.scheme+"\n").Replace(programmed)
		_, err := Parse("f", []byte(text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	idle := strings.NewReplacer("{h0..h3: }", "{h0..h3: {payload: 996B}, h4: {payload: 1000B}}", "[h0..h3, s0]", "[h0..h4, s0]", "delay: 1us", "delay: 1us, mtu: 1086B").Replace(programmed)
	if _, err := Parse("f", []byte(idle)); err != nil {
		t.Errorf("a NIC without a program: %v", err)
	}
}

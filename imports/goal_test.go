package imports

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

var testLayout = Layout{Rate: 100 * unit.GigabitPerSec, Delay: unit.Microsecond}

func traced(text string, rack *File) (*Imported, error) {
	return GOAL(File{"t.goal", []byte(text)}, rack, testLayout)
}

// IMP-8: Each statement becomes a step.
func TestGOALStatements(t *testing.T) {
	for _, c := range []struct{ goal, other, want, note string }{
		{"send 5b to 1", "", "send 5B to h1", ""},
		{"a : send 5b to 1 tag 7 cpu 1 nic 2", "", "a: send 5B to h1 tag 7", "ignored in 1 statements: cpu of send and recv"},
		{"l:send 5 b to 1\nrecv 7 b from 1 tag 2", "send 7b to 0 tag 2", "l: send 5B to h1\n    receive from h1 tag 2", ""},
		{"send 5b to 1 nic 2", "", "send 5B to h1", "ignored in 1 statements: nic"},
		{"send 5b to 1\ncalc 30", "", "send 5B to h1\n    calc 30ns", "ignored in 1 statements: cpu of send and recv, which take no time of a processor and do not wait for its calculations"},
		{"send 5b to 1 cpu 1\nsend 6b to 1\ncalc 0\ncalc 30 cpu 1", "recv 5b from 0\nrecv 6b from 0\ncalc 5", "send 5B to h1\n    send 6B to h1", "ignored in 3 statements: cpu"},
		{"send 5b to 1\ncalc 30 cpu 1", "calc 5", "send 5B to h1\n    calc 30ns on 1", ""},
		{"send 65535b to 1", "", "send 65535B to h1", ""},
		{"send 65536b to 1", "", "send 65536B to h1", "t.goal: 1 message of more than 65535 bytes sent at once, as smaller ones: LogGOPSim waits for the recv"},
		{"send 0b to 1", "", "send 1B to h1", "size 0 of send"},
		{"recv 5b from 1 tag 0", "send 5b to 0", "receive from h1", ""},
		{"recv 5b from -1 tag -1", "send 5b to 0 tag 4", "receive from any tag any", ""},
		{"calc 30", "", "calc 30ns", ""},
		{"calc 30 cpu 2", "", "calc 30ns on 2", ""},
		{"a: calc 1\nb: calc 2\nc: calc 3\nc requires a\nc irequires b", "", "c: calc 3ns after a once_started b", ""},
		{"a: calc 1\nb: calc 2\nc: calc 3\nc requires a\nc requires b", "", "c: calc 3ns after a, b", ""},
		{"calc 1 // calc 2\n/* calc 3\n calc 4 */ calc 5", "", "calc 1ns\n    calc 5ns", ""},
	} {
		out, err := traced("num_ranks 2\nrank 0 {\n"+c.goal+"\n}\nrank 1 {"+c.other+"}\n", nil)
		if err != nil {
			t.Errorf("%s: %v", c.goal, err)
			continue
		}
		if !strings.Contains(string(out.Scenario), "    "+c.want+"\n") || !strings.Contains(strings.Join(out.Notes, "\n"), c.note) || c.note == "" && len(out.Notes) > 0 {
			t.Errorf("%s:\n%s\nnotes %q", c.goal, out.Scenario, out.Notes)
		}
	}
}

// IMP-8: The rack may be that of a scenario with a host for each rank.
func TestGOALTopology(t *testing.T) {
	const rack = "name: r\nduration: 1ms\nscheme: pfc\nnics: {h0..h1: }\nswitches: {s0: }\nlinks:\n  - {endpoints: [h0..h1, s0], rate: 40Gbps, delay: 2us}\n"
	const trace = "num_ranks 2\nrank 0 { send 5b to 1 }\nrank 1 { recv 5b from 0 }\n"
	out, err := traced(trace, &File{"rack.yaml", []byte(rack)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.Parse("x", out.Scenario)
	if err != nil || s.Name != "r" || len(s.Steps) != 2 || s.Links[0].Rate != 40*unit.GigabitPerSec {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
	for _, c := range []struct{ trace, rack, want string }{
		{strings.Replace(trace, "num_ranks 2", "num_ranks 3", 1), rack, "rack.yaml: no NIC h2, which runs rank 2 of t.goal"},
		{trace, string(out.Scenario), "rack.yaml: has programs already"},
		{trace, "name: [", "rack.yaml:1: "},
	} {
		if _, err := traced(c.trace, &File{"rack.yaml", []byte(c.rack)}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// IMP-12: All faults of a trace are reported, with their lines.
func TestGOALFaults(t *testing.T) {
	for _, c := range []struct{ goal, want string }{
		{"", "t.goal:1: no num_ranks"},
		{"rank 0 {\n}", "t.goal:1: want rank R {, after num_ranks and outside another rank"},
		{"num_ranks 2\nrank 0 {\ncalc 1", "t.goal:3: the file ends before the } of rank 0"},
		{"num_ranks 2\n/* rank", "t.goal:2: the file ends within a comment"},
		{"num_ranks 1\nrank 0 {\nsend 5 to 0\nrecv 5b from 7\nx: jump\nx: calc -1\ny requires x\nsend 5b to\n}\nrank 0 {\n}\ncalc 3\n}", `t.goal:3: size "5", want bytes, like 1024b
t.goal:3: rank 0 exchanges a message with itself
t.goal:4: rank "7", want an integer from 0 to 0
t.goal:5: invalid statement "jump", want send SIZEb to RANK, recv SIZEb from RANK|-1, calc TIME, or LABEL requires|irequires LABEL
t.goal:6: label x is that of an earlier step of rank 0
t.goal:6: time in ns "-1", want an integer from 0 to 1000000000000
t.goal:7: rank 0 has no step y before this line
t.goal:8: invalid statement "send 5b to", want send SIZEb to RANK, recv SIZEb from RANK|-1, calc TIME, or LABEL requires|irequires LABEL
t.goal:10: rank 0 has begun before
t.goal:12: "calc" outside a rank, want num_ranks N or rank R {
t.goal:13: } outside a rank`},
		{"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 2147483648\nsend 5b to 1 tag\nsend 5b to 1 speed 4\nafter: calc 1\ncalc 1 nic 3\nsend 5b to 1 cpu 4096\n}", `t.goal:3: tag "2147483648", want an integer from 0 to 2147483647
t.goal:4: "tag" without a number
t.goal:5: "speed", want tag, cpu or nic
t.goal:6: label "after", want a letter, then at most 62 letters, digits and _; after and once_started are reserved
t.goal:7: "nic 3" after calc, want cpu C
t.goal:8: cpu "4096", want an integer from 0 to 4095`},
		{"num_ranks 2\nrank 0 {\n\ncalc 1\n// one\nrecv 5b from 1\n}\nrank 1 { recv 3b from 0 }", "t.goal:6: receive from h1 tag 0: nothing sends this message\nt.goal:8: receive from h0 tag 0: nothing"},
		{"num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}", "t.goal:3: steps on 2 lines wait for each other"},
		{"num_ranks 2\nrank 1 {\na: recv 5b from 0\nb: send 5b to 0\nb requires a\n}\nrank 0 {\na: recv 5b from 1\nb: send 5b to 1\nb requires a\n}", "t.goal:8: steps on 4 lines wait for each other"},
		{"\xc7\x10\x00\x00", "t.goal:1: a binary trace, want its text"},
	} {
		if _, err := traced(c.goal, nil); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n%v\nwant\n%s", c.goal, err, c.want)
		}
	}
}

// IMP-12: No input panics, and what is accepted is a valid scenario.
func FuzzGOAL(f *testing.F) {
	f.Add("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 3 cpu 0 nic 0\nl2: calc 5 cpu 1\nl2 requires l1\n}\nrank 1 { recv 8b from -1 tag -1 }\n")
	f.Add("num_ranks 2 /* a */ // b\nrank 1{\n}\n")
	f.Fuzz(func(t *testing.T, trace string) {
		if at := strings.Index(trace, "num_ranks "); at >= 0 && len(trace) > at+13 && trace[at+12] >= '0' && trace[at+12] <= '9' {
			return // large racks are slow, not wrong
		}
		if out, err := traced(trace, nil); err == nil {
			if _, err := scenariofile.Parse("s", out.Scenario); err != nil {
				t.Errorf("%v\n%s", err, out.Scenario)
			}
		}
	})
}

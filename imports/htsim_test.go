package imports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// matrix returns a connection matrix of 4 nodes with the counts of its lines.
func matrix(lines string) string {
	return fmt.Sprintf("Nodes 4\nConnections %d\nTriggers %d\nFailures %d\n%s\n",
		strings.Count(lines, "->"), strings.Count(lines, "trigger id"), strings.Count(lines, "failure "), lines)
}

// connected imports a matrix without the settings of a driver.
func connected(text string, topo *File, start unit.Time) (*Imported, error) {
	return HTSim(File{"t.cm", []byte(text)}, HTSimSetup{Topology: topo, Layout: &testLayout, Start: start, Driver: DriverCSG})
}

// section returns the lines of a scenario from a key of the top level to the next one.
func section(text []byte, key string) string {
	_, rest, _ := strings.Cut(string(text), "\n"+key+":\n")
	var lines []string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, " ") {
			break
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// IMP-6: Connections without triggers become flows.
func TestHTSimFlows(t *testing.T) {
	for _, c := range []struct {
		cm, want, note string
		start          unit.Time
	}{
		{"0->1 start 0 size 5", "{name: C1, from: h0, to: h1, size: 5B}", "", unit.Microsecond},
		{"0->1 id 7 start 0 size 5", "{name: F7, from: h0, to: h1, size: 5B}", "", unit.Microsecond},
		{"0->1 size 5 start 2.9", "{name: C1, from: h0, to: h1, size: 5B, start: 2us}", "fractions cut off: start of 1 of 1 flows", unit.Microsecond},
		{"0->1 size 5 start 3", "{name: C1, from: h0, to: h1, size: 5B, start: 3us}", "start is in us, as the UEC driver", unit.Microsecond},
		{"0->1 size 5 start 3000000", "{name: C1, from: h0, to: h1, size: 5B, start: 3us}", "start is in ps", unit.Picosecond},
		{"0->1 size 5 start 0 prio 2", "{name: C1, from: h0, to: h1, size: 5B}", "ignored: prio of 1 of 1 flows", unit.Microsecond},
		{"0->1 size 0 start 0", "{name: C1, from: h0, to: h1, size: endless}", "", unit.Microsecond},
		{"# a comment\n3->2\tstart 0  size 5", "{name: C1, from: h3, to: h2, size: 5B}", "", unit.Microsecond},
	} {
		out, err := connected(matrix(c.cm), nil, c.start)
		if err != nil {
			t.Errorf("%s: %v", c.cm, err)
			continue
		}
		notes := strings.Join(out.Notes, "\n")
		if got := section(out.Scenario, "flows"); got != "- "+c.want || !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s:\n%s\nnotes %q", c.cm, got, notes)
		}
	}
}

// IMP-6: Connections with triggers, and messages of a connection, become steps of programs. A step waits for that
// of the same host that activates its trigger, or for a message from the host that does.
func TestHTSimTriggers(t *testing.T) {
	for _, c := range []struct{ name, cm, want, note string }{
		{
			"receive at the source", "0->1 id 1 start 0 size 5 recv_done_trigger 1\n1->2 id 2 trigger 1 size 6\ntrigger id 1 oneshot",
			"h0: F1: send 5B to h1 tag 1; h1: received-F1: receive from h0 tag 1, F2: send 6B to h2 tag 2 after received-F1; h2: receive from h1 tag 2", "",
		},
		{
			"send at the source", "0->1 id 1 start 0 size 5 send_done_trigger 1\n0->2 id 2 trigger 1 size 6\ntrigger id 1 oneshot",
			"h0: F1: send 5B to h1 tag 1, F2: send 6B to h2 tag 2 after F1; h1: receive from h0 tag 1; h2: receive from h0 tag 2", "",
		},
		{
			"another host", "0->1 id 1 start 0 size 5 recv_done_trigger 1\n2->3 id 2 trigger 1 size 6\ntrigger id 1 oneshot",
			"h0: F1: send 5B to h1 tag 1; h1: received-F1: receive from h0 tag 1, send 1B to h2 tag 3 after received-F1; " +
				"h2: trigger1-1-h1: receive from h1 tag 3, F2: send 6B to h3 tag 2 after trigger1-1-h1; h3: receive from h2 tag 2",
			"a message of 1B carries them, which takes time: 1",
		},
		{
			"a signal for two flows", "0->1 id 1 start 0 size 5 send_done_trigger 9\n2->3 id 2 trigger 9 size 6\n2->1 id 3 trigger 9 size 7\ntrigger id 9 oneshot",
			"h0: F1: send 5B to h1 tag 1, send 1B to h2 tag 4 after F1; h1: receive from h0 tag 1, receive from h2 tag 3; " +
				"h2: trigger9-1-h0: receive from h0 tag 4, F2: send 6B to h3 tag 2 after trigger9-1-h0, F3: send 7B to h1 tag 3 after trigger9-1-h0; h3: receive from h2 tag 2",
			"takes time: 9",
		},
		{
			"barrier", "0->1 id 1 start 0 size 5 send_done_trigger 1\n2->0 id 2 start 0 size 6 recv_done_trigger 1\n0->3 id 3 trigger 1 size 7\ntrigger id 1 barrier count 2",
			"h0: F1: send 5B to h1 tag 1, received-F2: receive from h2 tag 2, F3: send 7B to h3 tag 3 after F1, received-F2; " +
				"h1: receive from h0 tag 1; h2: F2: send 6B to h0 tag 2; h3: receive from h0 tag 3", "",
		},
		{
			"barrier of several hosts", "0->1 id 1 start 0 size 5 send_done_trigger 3\n1->0 id 2 start 0 size 5 send_done_trigger 3\n2->3 id 3 trigger 3 size 6\n0->3 id 4 trigger 3 size 6\ntrigger id 3 barrier count 2",
			"h0: F1: send 5B to h1 tag 1, receive from h1 tag 2, send 1B to h2 tag 5 after F1, trigger3-1-h2: receive from h2 tag 7, F4: send 6B to h3 tag 4 after trigger3-1-h2; " +
				"h1: receive from h0 tag 1, F2: send 5B to h0 tag 2, send 1B to h2 tag 6 after F2; " +
				"h2: trigger3-1-h0: receive from h0 tag 5, trigger3-1-h1: receive from h1 tag 6, trigger3: calc 0s on 1 after trigger3-1-h0, trigger3-1-h1, F3: send 6B to h3 tag 3 after trigger3, " +
				"send 1B to h0 tag 7 after trigger3; h3: receive from h2 tag 3, receive from h0 tag 4",
			"takes time: 3",
		},
		{
			"two flows of another host", "0->1 id 1 start 0 size 5 send_done_trigger 3\n0->1 id 2 start 0 size 5 send_done_trigger 3\n2->3 id 3 trigger 3 size 6\n0->3 start 7 size 2\ntrigger id 3 barrier count 2",
			"h0: F1: send 5B to h1 tag 1, F2: send 5B to h1 tag 2, send 1B to h2 tag 5 after F1, F2; h1: receive from h0 tag 1, receive from h0 tag 2; " +
				"h2: trigger3-1-h0: receive from h0 tag 5, F3: send 6B to h3 tag 3 after trigger3-1-h0; h3: receive from h2 tag 3",
			"takes time: 3",
		},
		{
			"multishot", "0->1 id 1 start 0 size 5 send_done_trigger 1\n0->2 id 2 start 0 size 5 send_done_trigger 1\n0->3 id 3 trigger 1 size 5\n0->1 id 4 trigger 1 size 5\ntrigger id 1 multishot",
			"h0: F1: send 5B to h1 tag 1, F2: send 5B to h2 tag 2, F3: send 5B to h3 tag 3 after F1, F4: send 5B to h1 tag 4 after F2; " +
				"h1: receive from h0 tag 1, receive from h0 tag 4; h2: receive from h0 tag 2; h3: receive from h0 tag 3", "multishot triggers: the nth flow",
		},
		{
			"starts", "0->1 id 1 start 5 size 5 send_done_trigger 1\n0->1 id 2 start 3 size 5 send_done_trigger 2\n0->1 id 3 start 5 size 5 send_done_trigger 3\n" +
				"trigger id 1 oneshot\ntrigger id 2 oneshot\ntrigger id 3 oneshot",
			"h0: start1: calc 3us, start2: calc 2us after start1, F1: send 5B to h1 tag 1 after start2, F2: send 5B to h1 tag 2 after start1, F3: send 5B to h1 tag 3 after start2; " +
				"h1: receive from h0 tag 1, receive from h0 tag 2, receive from h0 tag 3", "2 connections wait for earlier messages",
		},
		{
			"messages", "0->1 id 1 msg 1 start 0 size 5\n0->1 id 1 msg 2 start 1 size 6",
			"h0: start1: calc 1us, F1-1: send 5B to h1 tag 1, F1-2: send 6B to h1 tag 2 after start1; h1: receive from h0 tag 1, receive from h0 tag 2", "",
		},
		{
			"messages without numbers", "0->1 id 1 msg start 0 size 5\n0->1 id 1 msg 2 start 0 size 6\n0->1 id 1 start 0 size 7 msg\n2->1 id 2 msg start 0 size 8",
			"h0: F1-3: send 5B to h1 tag 1, F1-2: send 6B to h1 tag 2, F1-4: send 7B to h1 tag 3; " +
				"h1: receive from h0 tag 1, receive from h0 tag 2, receive from h0 tag 3, receive from h2 tag 4; h2: F2-1: send 8B to h1 tag 4", "",
		},
		{
			"never", "0->1 id 1 start 0 size 5 send_done_trigger 1\n0->2 id 2 trigger 1 size 6 send_done_trigger 2\n0->2 id 3 trigger 2 size 6\ntrigger id 1 barrier count 2\ntrigger id 2 oneshot",
			"h0: F1: send 5B to h1 tag 1; h1: receive from h0 tag 1", "left out, as their triggers never fire: F2, F3",
		},
		{
			"a circle", "0->1 id 1 trigger 2 size 5 send_done_trigger 1\n0->2 id 2 trigger 1 size 6 send_done_trigger 2\n1->2 id 3 start 0 size 5\ntrigger id 1 oneshot\ntrigger id 2 oneshot",
			"", "never fire: F1, F2",
		},
		{
			"multishot without enough activations", "0->1 id 1 start 0 size 5 send_done_trigger 1\n0->2 id 2 trigger 1 size 6\n0->3 id 3 trigger 1 size 6\ntrigger id 1 multishot",
			"h0: F1: send 5B to h1 tag 1, F2: send 6B to h2 tag 2 after F1; h1: receive from h0 tag 1; h2: receive from h0 tag 2", "never fire: F3",
		},
	} {
		out, err := connected(matrix(c.cm), nil, unit.Microsecond)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := strings.NewReplacer(": |\n", ": ", "\nh", "; h", "\n", ", ").Replace(section(out.Scenario, "programs"))
		if notes := strings.Join(out.Notes, "\n"); got != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s:\n%s\nwant\n%s\nnotes %q", c.name, got, c.want, notes)
		}
		for line := range strings.Lines(section(out.Scenario, "flows")) {
			if strings.Contains(line, "tag") || strings.Contains(c.want, line[len("- {name: "):strings.Index(line, ",")]+":") {
				t.Errorf("%s: a step is a flow too: %s", c.name, line)
			}
		}
	}
}

// IMP-12: All faults of a matrix are reported, with their lines.
func TestHTSimFaults(t *testing.T) {
	const flow = "0->1 start 0 size 5"
	for _, c := range []struct{ cm, want string }{
		{"", "t.cm:1: no Nodes N in the header"},
		{"Connections 1\n" + flow, "t.cm:2: no Nodes N in the header"},
		{"Nodes 4\nConnections 2\nTriggers 1\nFailures 1\n" + flow, "t.cm:2: Connections 2, but the file has 1\nt.cm:3: Triggers 1, but the file has 0\nt.cm:4: Failures 1, but the file has 0"},
		{"Nodes 4\n" + flow, "t.cm:1: Connections 0, but the file has 1"},
		{"Nodes 4\nNodes 5\nNodes x\nLinks 3\n", `t.cm:2: Nodes was given on line 1
t.cm:3: Nodes was given on line 2
t.cm:3: Nodes "x", want an integer from 1 to 131071
t.cm:4: "Links 3" in the header, want Nodes, Connections, Triggers, Failures, each with a number, or S->D, trigger or failure`},
		{
			matrix("0->1 id 0 start x size 2147483648\n4->4 start 0 size 5\n2->2 start 0 size 5\n0->1 trigger 3 start 1\n0->1 size 5\n0->1 start 1 size 5 prio\n0->1 start 1 start 2 size 5 addon"),
			`t.cm:5: id "0", want an integer from 1 to 2147483647
t.cm:5: start "x", want a number from 0 to 1000000000 (in us)
t.cm:5: size "2147483648", want an integer from 0 to 2147483647
t.cm:6: source "4", want an integer from 0 to 3
t.cm:6: destination "4", want an integer from 0 to 3
t.cm:7: host 2 would send to itself
t.cm:8: no size
t.cm:8: start and trigger, want one of them
t.cm:8: trigger without id
t.cm:9: neither start nor trigger
t.cm:10: "prio" without a value, want id, msg, start, trigger, size, prio, send_done_trigger or recv_done_trigger
t.cm:11: start is given twice
t.cm:11: "addon" without a value, want id, msg, start, trigger, size, prio, send_done_trigger or recv_done_trigger
t.cm:8: no trigger 3 is declared`,
		},
		{
			matrix("0->1 start 0 size 5 color 3\n0->1 start NaN size 5\n0->1 start 0 size 5 msg 3\n0->1 id 1 start 0 size 0 send_done_trigger 1\ntrigger id 1 oneshot\nNodes 3"),
			`t.cm:5: "color", want id, msg, start, trigger, size, prio, send_done_trigger or recv_done_trigger
t.cm:6: start "NaN", want a number from 0 to 1000000000 (in us)
t.cm:7: msg without id
t.cm:8: size 0 is a flow without end: it cannot have a trigger or be a message
t.cm:10: "Nodes" after the header, want S->D, trigger or failure`,
		},
		{matrix("trigger id 1 oneshot barrier\ntrigger id 1 multishot\ntrigger oneshot\ntrigger id 2\ntrigger id 3 oneshot soon"), `t.cm:3: Triggers 4, but the file has 5
t.cm:5: more than one of oneshot, multishot and barrier
t.cm:5: barrier without count
t.cm:6: trigger 1 was declared on line 5
t.cm:7: trigger without id
t.cm:8: trigger without oneshot, multishot or barrier
t.cm:9: "soon", want trigger id K and oneshot, multishot or barrier count N`},
		{
			matrix("0->1 id 1 start 0 size 5 send_done_trigger 1 recv_done_trigger 1\n0->1 id 2 start 0 size 5 send_done_trigger 2\n0->1 id 3 start 0 size 5 send_done_trigger 2\ntrigger id 1 barrier count 1\ntrigger id 2 oneshot"),
			"t.cm:8: 2 lines activate trigger 1, want at most 1\nt.cm:9: 2 lines activate trigger 2, want at most 1",
		},
		{
			matrix("0->1 id 1 start 0 size 5\n0->1 id 1 start 0 size 5\n0->1 id 2 msg 1 start 0 size 5\n0->1 id 2 msg 1 start 0 size 5\n0->2 id 2 msg 2 start 0 size 5\n2->1 id 2 msg 2 start 0 size 5\n0->1 id 2 msg 4 start 0 size 5\n0->1 id 2 msg 4 start 0 size 5"),
			"t.cm:6: id 1 is that of line 5: only messages, with msg, share a connection\nt.cm:8: message 1 of connection 2 was given before\nt.cm:9: connection 2 is from 0 to 1 on line 7\n" +
				"t.cm:10: connection 2 is from 0 to 1 on line 7\nt.cm:12: message 4 of connection 2 was given before",
		},
		{matrix("failure switch_type LEAF switch_id 1\nfailure link_id 2 switch 3"), `t.cm:5: switch_type "LEAF", want TOR, AGG or CORE
t.cm:5: want switch_type, switch_id and link_id
t.cm:6: "switch", want switch_type, switch_id and link_id
t.cm:6: want switch_type, switch_id and link_id`},
	} {
		_, err := connected(c.cm, nil, unit.Microsecond)
		if err == nil {
			t.Errorf("%q: no fault", c.cm)
			continue
		}
		got, want := strings.Split(err.Error(), "\n"), strings.Split(c.want, "\n")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n%s\nwant\n%s", c.cm, err, c.want)
		}
	}
}

// The run is long enough for flows that wait for each other, and for those that share a host.
func TestHTSimDuration(t *testing.T) {
	for _, c := range []struct{ cm, want string }{
		{"0->1 start 0 size 1250000", "1.3ms"}, // twice 100 us at 100 Gbit/s, 100 us, 1 ms
		{"0->1 start 50 size 1250000\n2->1 start 0 size 1250000", "1.55ms"},
		{"0->1 start 0 size 1250000\n2->3 start 0 size 1250000", "1.3ms"},
		{"0->1 id 1 start 0 size 1250000 recv_done_trigger 1\n1->0 id 2 trigger 1 size 1250000\ntrigger id 1 oneshot", "1.6ms"},
		{"0->1 id 1 start 0 size 1250000 send_done_trigger 1\n1->2 id 2 start 0 size 1250000 send_done_trigger 2\n0->3 id 3 trigger 1 size 1250000 send_done_trigger 2\n2->3 id 4 trigger 2 size 1250000\n" +
			"trigger id 1 oneshot\ntrigger id 2 barrier count 2", "1.9ms"}, // three rounds
	} {
		out, err := connected(matrix(c.cm), nil, unit.Microsecond)
		if err != nil || !strings.Contains(string(out.Scenario), "\nduration: "+c.want+"\n") {
			t.Errorf("%s: %v\n%s", c.cm, err, out.Scenario)
		}
	}
}

// Of many names, notes have the first ten.
func TestHTSimManyNames(t *testing.T) {
	lines := ""
	for i := range 12 {
		lines += fmt.Sprintf("0->1 id %d trigger 1 size 5\n", i+1)
	}
	out, err := connected(matrix(lines+"trigger id 1 multishot"), nil, unit.Microsecond)
	if err != nil || len(out.Notes) != 1 || !strings.HasSuffix(out.Notes[0], "fire: F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, and 2 more") {
		t.Errorf("%v, %+v", err, out)
	}
}

// IMP-12: No input panics, and what is accepted is a valid scenario.
func FuzzHTSim(f *testing.F) {
	f.Add(matrix("0->1 id 1 start 0 size 5 recv_done_trigger 1\n2->3 id 2 trigger 1 size 6 prio 3\ntrigger id 1 barrier count 1\nfailure switch_type AGG switch_id 0 link_id 0"), smallTree)
	f.Add(matrix("0->1 id 1 msg 1 start 2 size 5 send_done_trigger 1\n0->1 id 3 trigger 1 size 1\ntrigger id 1 multishot"), "")
	f.Fuzz(func(t *testing.T, matrix, tree string) {
		if tooLarge(matrix) || tooLarge(tree) {
			return // large racks are slow, not wrong
		}
		var topo *File
		if tree != "" {
			topo = &File{"t.topo", []byte(tree)}
		}
		if out, err := connected(matrix, topo, unit.Microsecond); err == nil {
			if _, err := scenariofile.Parse("s", out.Scenario); err != nil {
				t.Errorf("%v\n%s", err, out.Scenario)
			}
		}
	})
}

// tooLarge reports whether a file has a number of nodes or ports of more than two digits.
func tooLarge(text string) bool {
	for _, line := range strings.Split(strings.ToLower(text), "\n") {
		w := strings.Fields(line)
		if len(w) == 2 && slices.Contains([]string{"nodes", "radix_up", "radix_down", "bundle"}, w[0]) && len(w[1]) > 2 {
			return true
		}
	}
	return false
}

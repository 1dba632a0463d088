package scenariofile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each row makes one error in the sample and names the line of its fault.
func TestErrorsNamePlaceKeyAndAllowedValues(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		// the file
		{"seed: 7", "seed: -7", `2: seed: "-7" is not an integer from 0 to 18446744073709551615`},
		{"seed: 7", "seed: 0x10", `2: seed: "0x10" is not an integer`},
		{"seed: 7", `seed: "7"`, `2: seed: "7" is not an integer`},
		{"seed: 7", "sead: 7", "2: sead: unknown key, want one of name, seed, duration"},
		{"seed: 7", "name: again", "2: name: duplicate key, first given on line 1"},
		{"name: sample", "name: a b", `1: name: "a b" is not a valid name: must match [A-Za-z][A-Za-z0-9_-]{0,62}`},
		{"name: sample\n", "", "1: name: is missing: name of the scenario"},
		{"duration: 1ms", "duration: 0ms", "3: duration: 0ms is out of range, want 1ns to 1000s"},
		{"duration: 1ms", "duration: 1", `3: duration: "1" has no unit`},
		{"duration: 1ms", "duration: 1parsec", "want one of ps, ns, us"},
		{"duration: 1ms", "duration: 100s", "4: bin: divides 100s into 10000000 bins, want at most 1000000: a bin of at least 100us"},
		{"bin: 10us", "bin: 0us", "4: bin: 0us is out of range"},
		{"scheme: pcn", "scheme: tcp", `5: scheme: unknown scheme "tcp", want one of pfc, `},
		{"scheme: pcn", "scheme: [pcn]", "5: scheme: a list is not a scheme"},
		{"name: sample", "name: &n sample", "1: anchors and aliases are not supported"},
		{"name: sample", "name: *n", "invalid YAML: unknown anchor"},
		{"name: sample", "name: {", "invalid YAML: "},
		{"  pcn: {wmin: 0.01, wmax: 0.5}\n", "  pcn: {}\n---\nname: x\n", "a second YAML document follows"},
		{"flows:\n  -", "flows:\n ", "18: flows: want a list, not a mapping"},
		// nodes
		{"r0:\n", "s0..s1:\n", "12: switches.s0..s1: s0 is already a nic, on line 10"},
		{"r0:\n", "h3..h5:\n", "10: nics.h3..h5: mixes declared and new nodes"},
		{"r0:\n", "r0: 1\n", `10: nics.r0: want a mapping, like {key: value}, not "1"`},
		{"h0..h3: {", "h3..h0: {", `invalid range "h3..h0", want the smaller number first`},
		{"h0..h3: {", "h0..g3: {", "want the same letters at both ends"},
		{"h0..h3: {", "h00..h3: {", "without leading zeros"},
		{"h0..h3: {", "h0..h999999: {", `want at most 131072 names`},
		{"h0..h3: {", "\"h0, h1, h1\": {", `contains h1 twice`},
		{"payload: 1000B", "payload: 0B", "9: nics.h0..h3.payload: 0B is out of range, want 4B to 65.336KB"},
		{"payload: 1000B", "payload: 1001B", "9: nics.h0..h3.payload: 1001B is not a multiple of 4B, which all packets of a message but the last must be: want 1000B or 1004B"},
		{"payload: 1000B", "payload: 1.0015KB", `9: nics.h0..h3.payload: size "1.0015KB"`},
		{"payload: 1000B", "payload: 1500B", "9: nics.h0..h3.payload: a payload of 1500B needs frames of 1586B, above the mtu of 1518B of link h0-s0: want a payload of at most 1432B"},
		{"payload: 1000B", "ack_every: 0", `nics.h0..h3.ack_every: "0" is not an integer from 1 to 65536`},
		{"payload: 1000B", "rtt: sundial", `9: nics.h0..h3.rtt: "sundial" is unknown, want one of echo, receiver, offset`},
		{"payload: 1000B", "control_queue: 1.5", `"1.5" is not an integer`},
		{"  r0:\n", "  r0:\n  r1:\n", "11: nics.r1: r1 has no link"},
		{"  s0..s1:", "  s0..s2:", "12: switches.s0..s2: s2 has no link"},
		// links
		{"[s0, s1], rate: 100Gbps", "[s0, s1], delay: 0us", "15: links[1].delay: 0us is out of range, want 1ns to 1s"},
		{"[s0, s1], rate: 100Gbps", "[s0, s1], rate: 0Gbps", "15: links[1].rate: 0Gbps is out of range, want 1Kbps to 10Tbps"},
		{"[s0, s1], rate: 100Gbps", "[s0, s1], overhead: -49B", "15: links[1].overhead: -49B is out of range, want -48B to 1KB"},
		{"[s0, s1], rate: 100Gbps", "[s0, s1], overhead: --1B", `15: links[1].overhead: size "-1B": want a number and a unit`},
		{"[s0, s1], rate: 100Gbps", "[s0, s9]", "15: links[1].endpoints: unknown node s9"},
		{"[s0, s1], rate: 100Gbps", "[s0, s0]", "15: links[1].endpoints: joins s0 to itself"},
		{"[s0, s1], rate: 100Gbps", "[s0]", "15: links[1].endpoints: want a list of two ends"},
		{"[s0, s1], rate: 100Gbps", "[s0, 1]", `15: links[1].endpoints: "1" names no node`},
		{"[s0, s1], rate: 100Gbps}", "[s0, s1]}\n  - {endpoints: [s1, s0]}", "16: links[2].endpoints: s1 and s0 are already linked by links[1].endpoints on line 15"},
		{"[s0, s1], rate: 100Gbps}", "[s0, s1]}\n  - {endpoints: [h0, s1]}", "9: nics.h0..h3: h0 has 2 links, a NIC has one"},
		{"  - {endpoints: [s0, s1], rate: 100Gbps}\n", "", "10: nics.r0: no path from r0 to h0"},
		// switches
		{"buffer: 12MB", "buffer: 500KB", "12: switches.s0..s1.buffer: 500KB is too small: reserve 4.096KB and headroom 187.5KB for 5 ports and 1 lossless classes"},
		{"buffer: 12MB", "xoff: 12MB", "12: switches.s0..s1.xoff: 12MB is never reached: reserves and headrooms leave 11.04202MB"},
		{"buffer: 12MB", "xoff: 3KB", "12: switches.s0..s1.xon_offset: 3.072KB is not below xoff 3KB"},
		{"buffer: 12MB", "alpha_shift: 20", "12: switches.s0..s1.alpha_shift: 20 leaves a threshold of 10B at an empty buffer, less than one frame of 1518B"},
		{"buffer: 12MB", "pmax: 1.5", `12: switches.s0..s1.pmax: "1.5" is not a number in [0, 1]`},
		{"buffer: 12MB", "pmax: .nan", `is not a number in [0, 1]`},
		{"buffer: 12MB", "kmin: 300KB", "12: switches.s0..s1.kmin: 300KB is above kmax 200KB"},
		{"buffer: 12MB", "quanta: 65536", `"65536" is not an integer from 1 to 65535`},
		{"buffer: 12MB", "lossless: [8]", `"8" is not an integer from 0 to 7`},
		{"buffer: 12MB", "lossless: [3, 3]", `class 3 is listed twice`},
		{"buffer: 12MB", "arbitration: lottery", `12: switches.s0..s1.arbitration: "lottery" is unknown, want one of fifo, ingress`},
		{"buffer: 12MB", "marking: {3: blue}", `12: switches.s0..s1.marking: class 3: "blue" is unknown, want one of none, red, npecn, step, bdp, qcn`},
		{"buffer: 12MB", "marking: {9: red}", `"9" is not an integer from 0 to 7`},
		{"buffer: 12MB", "weights: [1, 1]", `want a list of 8 weights from 0 to 1000`},
		// converters
		{"buffer: 12MB", "rewrite: {3: blue}", `12: switches.s0..s1.rewrite: class 3: "blue" is unknown, want one of none, rttx`},
		{"buffer: 12MB", "rewrite: [3]", `12: switches.s0..s1.rewrite: want a mapping from traffic class to a word, like {3: rttx}, not a list`},
		{"buffer: 12MB", "rewrite: {3: rttx, 3: rttx}", `rewrite: class 3 is listed twice`},
		{"buffer: 12MB", "rttx_window: 256", `12: switches.s0..s1.rttx_window: "256" is not an integer from 1 to 255`},
		{"buffer: 12MB", "rttx_d: 2s", `12: switches.s0..s1.rttx_d: 2s is out of range, want 0ps to 1s`},
		{"buffer: 12MB", "rttx_way: steps", `12: switches.s0..s1.rttx_way: "steps" is unknown, want one of fixed, graded, probabilistic, table`},
		{"buffer: 12MB", "rttx_levels: 5", `12: switches.s0..s1.rttx_levels: 5 does not match table 1, want 4, or another rttx_way`},
		{"buffer: 12MB", "rttx_match: mirror", `12: switches.s0..s1.rttx_match: mirror cannot match by rttx_key queue-pair`},
		{"buffer: 12MB", "rttx_match: mirror, rttx_key: five-tuple", `12: switches.s0..s1.rttx_match: mirror cannot match the ACKs of r0, whose ack_ports is plain: want pairs here, or ack_ports mirrored there`},
		// RTTX-35: T_r is not what an echo sender looks at.
		{"buffer: 12MB", "rttx_stamp: tr", `12: switches.s0..s1.rttx_stamp: tr does not affect h0, whose rtt is echo: want ts here, or rtt receiver there`},
		// flows
		{"size: 1MB", "size: 0B", "18: flows[0].size: 0B is out of range, want 1B to 1TB"},
		{"size: 1MB", "size: -1B", "18: flows[0].size: -1B is out of range, want 1B to 1TB"},
		{"size: 1MB", "size: 2TB", "18: flows[0].size: 2TB is out of range"},
		{"size: 1MB", "size: forever", `18: flows[0].size: size "forever"`},
		{"size: 1MB, ", "", `18: flows[0].size: is missing: size of the message, from 1B to 1TB, or "endless"`},
		{"start: 0us", "start: 1ms", "18: flows[0].start: 1ms is not before the end of the run, want less than the duration of 1ms"},
		{"start: 0us", "initial_rate: 50Gbps", "18: flows[0].initial_rate: 50Gbps is above the 40Gbps of the link of h0"},
		{"from: h0, ", "from: r0, ", "18: flows[0].to: r0 would send to itself"},
		{"from: h0, ", "from: s0, ", "18: flows[0].from: s0 is a switch, want a NIC"},
		{"from: h0, ", "from: h9, ", "18: flows[0].from: unknown node h9"},
		{"  - {name: F0", "  - {name: burst", "20: bursts[0].name: burst is already the name of flows[0] on line 18"},
		{"from: h1..h3", "from: r0", "20: bursts[0].to: r0 would send to itself"},
		{"from: h1..h3", "from: []", "20: bursts[0].from: a list names no node"},
		{"at: 100us", "at: 2ms", "20: bursts[0].at: 2ms is not before the end of the run"},
		{"at: 100us", "at: 0, flows_per_sender: 0", `20: bursts[0].flows_per_sender: "0" is not an integer from 1 to 65536`},
		// schemes
		{"wmin: 0.01", "wmin: 0", `22: schemes.pcn.wmin: "0" is not a number in (0, 1)`},
		{"wmax: 0.5", "wmax: 2", `22: schemes.pcn.wmax: "2" is not a number in (0, 1)`},
		{"wmin: 0.01", "wmin: 0.6", "22: schemes.pcn.wmin: 0.6 is above wmax 0.5"},
		{"  pcn: {wmin: 0.01, wmax: 0.5}", "  timely-rttx: {t_low: 200us}", "22: schemes.timely-rttx: timely: t_low 200us and t_high 100us, want 0 <= t_low <= t_high"},
		{"wmin: 0.01", "threshold: 1.1", `22: schemes.pcn.threshold: "1.1" is not a number in (0, 1]`},
		{"wmin: 0.01", "period: 0us", "22: schemes.pcn.period: 0us is out of range"},
		{"  pcn:", "  tcp:", "22: schemes.tcp: unknown key, want one of "},
		{"  pcn: {wmin: 0.01, wmax: 0.5}", "  ceth: {light: 0.9, medium: 0.5}", "22: schemes.ceth.light: 0.9 is above medium 0.5"},
		{"  pcn: {wmin: 0.01, wmax: 0.5}", "  ceth: {source: switch}", "22: schemes.ceth.form: header is covered by the ICRC, which a switch does not recompute: want resv6 or ratio6"},
		{"  pcn: {wmin: 0.01, wmax: 0.5}", "  ceth: {form: footer}", `22: schemes.ceth.form: "footer" is unknown, want one of header, resv6, resv7, ratio6, ratio7`},
	} {
		_, err := Parse("f", []byte(edited(t, c.old, c.with)))
		switch {
		case err == nil:
			t.Errorf("%q was accepted", c.with)
		case !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f:") || keysIn(err) != 1:
			t.Errorf("%q:\n got %v\nwant one key, and %s", c.with, err, c.want)
		}
	}
}

// keysIn counts the keys of the faults. Two switches of one range may have a fault
// Flows beyond the packet delivery contexts of UET are refused under its schemes, and none else.
func TestUETFlowsAreBounded(t *testing.T) {
	const file = "name: x\nduration: 1ms\nscheme: %s\nnics: {h0..h1: }\nlinks: [{endpoints: [h0, h1], rate: 40Gbps, delay: 1us}]\n" +
		"bursts: [{name: B, from: h0, to: h1, flows_per_sender: %d, size: 1KB, at: 0s}]\n"
	for _, c := range []struct {
		scheme string
		flows  int
		want   string
	}{
		{"nscc", 65535, ""},
		{"nscc", 65536, "f:3: scheme: 65536 flows, with the pairs of hosts between which programs and collectives send: UET, under the scheme nscc, has at most 65535"},
		{"pcn", 65536, ""},
	} {
		_, err := Parse("f", fmt.Appendf(nil, file, c.scheme, c.flows))
		if s, _ := Parse("f", fmt.Appendf(nil, file, "pcn", c.flows)); (Under(s, c.scheme).CheckFlows() == nil) != (c.want == "") {
			t.Errorf("%d flows of pcn, under %s: %v", c.flows, c.scheme, Under(s, c.scheme).CheckFlows())
		}
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%d flows under %s: %v", c.flows, c.scheme, err)
		}
	}
}

// each.
func keysIn(err error) int {
	var faults *Faults
	named := map[string]bool{}
	if errors.As(err, &faults) {
		for _, f := range faults.List {
			named[f.Key] = true
		}
	}
	return len(named)
}

func TestLinkWithoutRateOrDelayIsInvalid(t *testing.T) {
	_, err := Parse("f", []byte(edited(t, "{rate: 40Gbps, delay: 5us}", "{rate: 40Gbps}")))
	for i, line := range strings.Split(fmt.Sprint(err), "\n") {
		if want := fmt.Sprintf("f:%d: links[%d].delay: is missing: give it here or in defaults.link", 14+i, i); line != want {
			t.Errorf("got %s, want %s", line, want)
		}
	}
}

func TestErrorNamesMTUTooSmallForTheDefaultPayload(t *testing.T) {
	text := strings.NewReplacer(": {payload: 1000B}", ":", "rate: 100Gbps", "mtu: 500B").Replace(sample)
	_, err := Parse("f", []byte(text))
	want := "f:15: links[1].mtu: a payload of 1000B needs frames of 1086B, above the mtu of 500B of link s0-s1: want a payload of at most 412B"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

func TestMTUHasRoomForUETHeaders(t *testing.T) {
	text := strings.NewReplacer("payload: 1000B", "payload: 4096B", "delay: 5us}", "delay: 5us, mtu: 4200B}").Replace(sample)
	if _, err := Parse("f", []byte(text)); err != nil {
		t.Errorf("under pcn: %v", err)
	}
	_, err := Parse("f", []byte(strings.Replace(text, "scheme: pcn", "scheme: nscc", 1)))
	want := "f:9: nics.h0..h3.payload: a payload of 4096B needs frames of 4202B, above the mtu of 4200B of link h0-s0: want a payload of at most 4092B"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

func TestErrorNamesPayloadThatUETCannotCarry(t *testing.T) {
	text := strings.NewReplacer("payload: 1000B", "payload: 20000B", "delay: 5us}", "delay: 5us, mtu: 65536B}").Replace(sample)
	if _, err := Parse("f", []byte(text)); err != nil {
		t.Errorf("under pcn: %v", err)
	}
	_, err := Parse("f", []byte(strings.Replace(text, "scheme: pcn", "scheme: cbrc", 1)))
	want := "f:9: nics.h0..h3.payload: 20000B does not fit a UET request under the scheme cbrc, want at most 16383B"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

func TestAllErrorsAreReportedInLineOrder(t *testing.T) {
	text := strings.NewReplacer("seed: 7", "seed: x", "from: h0, ", "from: h9, ", "delay: 5us", "delay: 0us",
		"wmax: 0.5", "wmax: 5").Replace(sample)
	_, err := Parse("f", []byte(text))
	var faults *Faults
	if !errors.As(err, &faults) {
		t.Fatalf("%v: not of type *Faults", err)
	}
	want := []string{"seed", "defaults.link.delay", "flows[0].from", "schemes.pcn.wmax"}
	for i, key := range want {
		if len(faults.List) != len(want) || faults.List[i].Key != key {
			t.Fatalf("want %v, got\n%v", want, err)
		}
	}
}

func TestErrorOfManyFlowsIsReportedOnce(t *testing.T) {
	_, err := Parse("f", []byte(edited(t, "at: 100us", "at: 5ms, flows_per_sender: 1000")))
	if err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("got %v", err)
	}
}

func TestEmptyFileIsInvalid(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "null\n", "[]\n", "7\n"} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "f:1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Packets of UET have no pad count, so that a payload need not be whole words. Those of RoCEv2 must, also those of commands.
func TestPayloadsOfUETNeedNoPad(t *testing.T) {
	const fault = "f:9: nics.h0..h3.payload: 1001B is not a multiple of 4B, which all packets of a message%s but the last must be: want 1000B or 1004B"
	for _, c := range []struct{ scheme, commands, want string }{
		{"nscc", "", "<nil>"},
		{"rccc", "", "<nil>"},
		{"cbrc", "", "<nil>"},
		{"mrc", "", fmt.Sprintf(fault, "")},
		{"nscc", "commands:\n  - {name: c, verb: put, from: h0, to: r0, size: 5KB}\n", fmt.Sprintf(fault, " of a command")},
	} {
		text := strings.NewReplacer("payload: 1000B", "payload: 1001B", "scheme: pcn", "scheme: "+c.scheme).Replace(sample) + c.commands
		if _, err := Parse("f", []byte(text)); fmt.Sprint(err) != c.want {
			t.Errorf("%s: %v\nwant %s", c.scheme, err, c.want)
		}
	}
}

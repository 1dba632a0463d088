package scenariofile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// withCommands is the sample with commands. Tests replace its lines with invalid ones.
const withCommands = sample + `commands:
  - {name: G, verb: get, from: r0, to: h0..h1, size: 1MB, count: 3, at: 10us, every: 2us}
  - {name: P, verb: put, from: "r0, h2", to: h3, size: 4KB, class: 3, after: G}
  - {name: A, verb: fetch-add, from: h1, to: h0, address: 8, operand: 1}
  - {name: R, verb: append, from: h3, count: 4}
vary: {key: nic.pacing, values: [off, bucket]}
`

func commandsEdited(t testing.TB, old, with string) string {
	t.Helper()
	if strings.Count(withCommands, old) != 1 {
		t.Fatalf("%q occurs %d times", old, strings.Count(withCommands, old))
	}
	return strings.Replace(withCommands, old, with, 1)
}

// Each pair of NICs has one connection per class. Command IDs are consecutive in the
// scenario, and an ID leads back to its entry.
func TestCommandsExpandIntoConnectionsAndStreams(t *testing.T) {
	s := parsed(t, commandsEdited(t, "from: \"r0, h2\", to: h3, size: 4KB, class: 3, after: G", "from: r0, to: \"h0, h3\", size: 4KB"))
	var pairs []string
	for _, k := range s.Connections() {
		pairs = append(pairs, fmt.Sprintf("%s>%s/%d", s.Nodes[k.From].Name, s.Nodes[k.To].Name, k.Class))
	}
	if got := strings.Join(pairs, " "); got != "r0>h0/3 r0>h1/3 r0>h3/3 h1>h0/3" {
		t.Errorf("connections %s", got)
	}
	streams := s.Streams()
	if len(streams) != 6 || streams[5].Connection != -1 || streams[1].First != 3 || streams[2].Connection != 0 {
		t.Errorf("streams %+v", streams)
	}
	var of []int
	for id := range uint32(13) {
		of = append(of, topology.CommandOf(streams, id))
	}
	if got := fmt.Sprint(of); got != "[0 0 0 0 0 0 1 1 2 3 3 3 3]" || topology.CommandOf(nil, 5) != -1 {
		t.Errorf("commands of the IDs: %s", got)
	}
	if k := s.Connections()[0]; k.ID != topology.FirstConnection || k.Source == s.Connections()[1].Source {
		t.Errorf("%+v", k)
	}
}

func TestCommandsRoundTrip(t *testing.T) {
	s := parsed(t, strings.Replace(commandsEdited(t, `from: "r0, h2"`, "from: r0"), "  r0:\n", "  r0: {absorb: 20Gbps, pacing: outstanding, shaping: [{class: 3, out_ceiling: 50}]}\n", 1))
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"vary: {key: nic.pacing, values: [off, bucket]}", "absorb: 20Gbps", "out_ceiling: 50", "after: G"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest lacks %q:\n%s", want, text)
		}
	}
	e := s.Nodes[4].NIC.Engine
	if e.Pacing != shaper.PacingOutstanding || e.Shaping[0].InCeiling != 100 || s.Nodes[0].NIC.Engine.Pacing != shaper.PacingBucket {
		t.Errorf("%+v", e)
	}
	// GET-54: what a NIC absorbs is a key of its own, by default the rate of the link.
	if s.Nodes[0].NIC.Engine.Absorb != 0 || e.Absorb != 20*unit.GigabitPerSec {
		t.Errorf("absorb %v and %v", s.Nodes[0].NIC.Engine.Absorb, e.Absorb)
	}
}

// GET-34: the limits of outstanding packets are 64 by default, from 1 to 2047, as in
// the hardware. GET-36: so is the header of 40 bytes of a response.
// GET-13: PAUSE begins at what the link carries in a microsecond.
func TestEngineDefaultsMatchTheHardware(t *testing.T) {
	e := topology.DefaultEngine()
	if e.GetLimit != 64 || e.PutLimit != 64 || e.Length != (work.Length{Header: 40, Scale: 1}) || e.Units != 48 || e.ResponseUnits != 24 || e.Response(2048) != 2088 {
		t.Errorf("%+v", e)
	}
	for _, limit := range []string{"0", "2048"} {
		if _, err := with(t, "nic.get_limit="+limit); err == nil || !strings.Contains(err.Error(), "from 1 to 2047") {
			t.Errorf("get_limit %s: %v", limit, err)
		}
	}
	buffer, xoff, xon := e.Intake(topology.Link{Rate: 200 * unit.GigabitPerSec, Delay: unit.Microsecond, MTU: 1518})
	if xoff != 25_000 || xon != 25_000-3072 || buffer < xoff+50_000 {
		t.Errorf("buffer %v, XOFF %v, XON %v", buffer, xoff, xon)
	}
}

// Sends over ud have connections of their own, also those of a change; the transport
// survives in the manifest, where rc is not written.
func TestDatagramsHaveTheirOwnConnections(t *testing.T) {
	s := parsed(t, sample+`commands:
  - {name: U, verb: send, transport: ud, from: r0, to: h0, size: 1KB, count: 2}
  - {name: R, verb: send, transport: rc, from: r0, to: h0, size: 1KB}
changes:
  - {at: 10us, post: {name: L, verb: send, transport: ud, from: r0, to: "h0, h1", size: 100B}}
`)
	var got []string
	for _, k := range s.Connections() {
		got = append(got, fmt.Sprintf("%s %v", s.Nodes[k.To].Name, k.Datagram))
	}
	if list := strings.Join(got, ", "); list != "h0 true, h0 false, h1 true" {
		t.Errorf("connections %s", list)
	}
	if streams := s.Streams(); streams[2].Connection != 0 {
		t.Errorf("the change uses connection %d", streams[2].Connection)
	}
	text, err := Marshal(s)
	if err != nil || strings.Count(string(text), "transport: ud") != 2 || strings.Contains(string(text), "transport: rc") {
		t.Errorf("%v:\n%s", err, text)
	}
}

// A datagram is a send of one packet.
func TestFaultsOfDatagrams(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"verb: put, size: 1KB", "commands[0].transport: ud carries no put, want verb send, or transport rc"},
		{"verb: fetch-add", "ud carries no fetch-add"},
		{"verb: send, size: 1001B", "commands[0].size: 1.001KB is more than one packet of r0, whose payload is 1KB: a datagram is not cut"},
	} {
		_, err := Parse("f", []byte(sample+"commands: [{name: U, transport: ud, from: r0, to: h0, "+c.command+"}]\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.command, err, c.want)
		}
	}
	_, err := Parse("f", []byte(sample+"changes: [{at: 1us, post: {name: U, verb: get, transport: ud, from: r0, to: h0, size: 1B}}]\n"))
	if err == nil || !strings.Contains(err.Error(), "post.transport: ud carries no get") {
		t.Errorf("a change: %v", err)
	}
}

func TestFaultsOfCommands(t *testing.T) {
	good := commandsEdited(t, `from: "r0, h2"`, "from: r0")
	parsed(t, good)
	for _, c := range []struct{ old, with, want string }{
		{"verb: get", "verb: steal", `commands[0].verb: "steal" is unknown, want one of put, get, send, fetch-add, compare-swap, append, search`},
		{"to: h0..h1", "to: r0", "commands[0].to: r0 would send to itself"},
		{", to: h0..h1", "", "commands[0].to: is missing: target NICs"},
		{"from: h3, count: 4", "from: h3, to: h2, count: 4", "commands[3].to: append is for the NIC's own lists and takes no to"},
		{"size: 1MB, count: 3", "count: 3", "commands[0].size: is missing: bytes of each get"},
		{"address: 8", "address: 9", "commands[2].address: 9 is not a multiple of 8"},
		{"operand: 1", "size: 16B", "commands[2].size: an atomic has 8B"},
		{"class: 3", "class: 6", "commands[1].class: 6 is the class of ACK, NAK and CNP"},
		{"at: 10us", "at: 1ms", "commands[0].at: 1ms is not before the end of the run"},
		{"after: G", "after: X", "commands[1].after: X does not name commands to other NICs that are listed above"},
		{"from: r0, to: h3", "from: h2, to: h3", "commands[1].after: h2 posts no G, so it would wait forever"},
		{"name: P", "name: G", "commands[1].name: G is already the name of commands[0]"},
		{"nic.pacing", "nic.pace", "vary: unknown key nic.pace"},
		{"[off, bucket]", "[off, off]", "vary: values: value off is listed twice"},
		{"[off, bucket]", "[]", "vary: values: want a list of values"},
		{"  r0:\n", "  r0: {absorb: 20Gbps, rx_buffer: 10KB}\n", "nics.r0.rx_buffer: 10KB is less than rx_xoff plus headroom"},
		{"  r0:\n", "  r0: {pacing_burst: 500B}\n", "nics.r0.pacing_burst: 500B is less than the 1040B of a response"},
		{"  r0:\n", "  r0: {out_burst: 500B}\n", "nics.r0.out_burst: 500B is less than the 1100B"},
		{"  r0:\n", "  r0: {pacing: outstanding, pacing_outstanding: 1KB}\n", "nics.r0.pacing_outstanding: 1KB is less than the 1040B"},
		{"  r0:\n", "  r0: {pacing: outstanding, pacing_period_bytes: 9KB}\n", "nics.r0.pacing_period: is missing"},
		{"  r0:\n", "  r0: {pacing: outstanding, pacing_outstanding: 0}\n", "nics.r0.pacing_outstanding: is 0, and so is pacing_period_bytes"},
		{"  r0:\n", "  r0: {units: 100, response_units: 100}\n", "nics.r0.units: 100 and 100 response units, want at most 128 in all"},
		{"  r0:\n", "  r0: {shaping: [{class: 9}]}\n", `nics.r0.shaping: class: "9" is not an integer from 0 to 7`},
		{"  r0:\n", "  r0: {shaping: [{class: 3}, {class: 3}]}\n", "nics.r0.shaping: class 3 is listed twice"},
	} {
		text := strings.Replace(good, c.old, c.with, 1)
		if text == good {
			t.Fatalf("%q is not there", c.old)
		}
		_, err := Parse("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.with, err, c.want)
		}
	}
}

// posts lists the commands of each pair with their instants and sizes. It survives in the manifest.
func TestCommandsWithPosts(t *testing.T) {
	const entry = "  - {name: Q, verb: put, from: h0, to: \"h1, h2\", at: 5us, posts: [[0us, 64KB], [7us, 3KB], [7us, 1B]]}\n"
	s := parsed(t, sample+"commands:\n"+entry)
	want := topology.Command{
		Name: "Q", Verb: "put", From: []int{0}, To: []int{1, 2}, At: 5 * unit.Microsecond, Count: 3, Size: 64 * unit.Kilobyte, Class: topology.DataClass,
		Posts: []work.Post{{Size: 64 * unit.Kilobyte}, {After: 7 * unit.Microsecond, Size: 3 * unit.Kilobyte}, {After: 7 * unit.Microsecond, Size: 1}},
	}
	if diff := cmp.Diff([]topology.Command{want}, s.Commands); diff != "" || s.Commands[0].Bytes() != 67001 || s.Commands[0].Total() != 6 {
		t.Errorf("%d bytes, %d commands\n%s", s.Commands[0].Bytes(), s.Commands[0].Total(), diff)
	}
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if again := parsed(t, string(text)); !cmp.Equal(again.Commands, s.Commands) || strings.Contains(string(text), "count:") {
		t.Errorf("%s", text)
	}
	for _, c := range []struct{ old, with, want string }{
		{"at: 5us", "size: 1KB", "commands[0].size: cannot be combined with posts"},
		{"at: 5us", "count: 3", "commands[0].count: cannot be combined with posts"},
		{"at: 5us", "every: 3us", "commands[0].every: cannot be combined with posts"},
		{"[7us, 3KB]", "[8us, 3KB]", "commands[0].posts: 7us comes after 8us: want ascending times"},
		{"[7us, 3KB]", "[7us, 3GB]", "commands[0].posts: "},
		{"[7us, 3KB]", "[7us]", "commands[0].posts: want a time and a size, like [12us, 4KB]"},
		{"[[0us, 64KB], [7us, 3KB], [7us, 1B]]", "[]", "commands[0].posts: want a list of commands"},
		{"verb: put", "verb: fetch-add", "commands[0].posts: an atomic has 8B, not 64KB"},
		{"verb: put, from: h0, to: \"h1, h2\"", "verb: append, from: h0", "commands[0].posts: append has no posts, want count"},
		{"verb: put", "verb: send, transport: ud", "commands[0].size: 64KB is more than one packet of h0"},
	} {
		if _, err := Parse("x", []byte(sample+"commands:\n"+strings.Replace(entry, c.old, c.with, 1))); err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v, want %s", c.with, err, c.want)
		}
	}
}

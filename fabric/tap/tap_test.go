package tap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

const small = `
name: small
duration: 1ms
scheme: pfc
nics: {h0..h2: }
switches: {s0: , s1: }
links:
  - {endpoints: [h0..h1, s0], rate: 40Gbps, delay: 1us}
  - {endpoints: [s0, s1], rate: 40Gbps, delay: 1us}
  - {endpoints: [h2, s1], rate: 40Gbps, delay: 1us}
`

// Ports are selected by node, number and neighbour. The error lists all names without a
// match.
func TestPoints(t *testing.T) {
	s, err := scenariofile.Parse("small", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at, want, fault string
	}{
		{at: "h0", want: "h0:p0>s0"},
		{at: "s0", want: "s0:p0>h0 s0:p1>h1 s0:p2>s1"},
		{at: "s0:p1", want: "s0:p1>h1"},
		{at: "s0:s1", want: "s0:p2>s1"},
		{at: "h2 h0..h2 h2:s1", want: "h2:p0>s1 h0:p0>s0 h1:p0>s0"},
		{at: "x:p0 s0:p9 s1:h0", fault: "x:p0: unknown node x\ns0:p9: s0 has no such port: must be p0 to p2 or the name of a neighbour\ns1:h0: s1 has no such port: must be p0 to p1 or the name of a neighbour"},
		{at: "", fault: "no ports given: use NODE, NODE:pN or NODE:PEER, such as s1, s1:p2 or s1:s0"},
	} {
		points, err := Points(s, strings.Fields(c.at))
		var got []string
		for _, p := range points {
			got = append(got, p.Name+">"+p.Peer)
		}
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if fault != c.fault || c.fault == "" && strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, %s", c.at, got, fault)
		}
	}
}

func TestKinds(t *testing.T) {
	built := func(op frame.Opcode) *frame.Frame {
		f := new(frame.Frame)
		(&frame.Packet{DSCP: 26, TTL: 64, BTH: frame.BTH{Opcode: op}}).Build(f)
		return f
	}
	pfc, uet, trimmed := new(frame.Frame), new(frame.Frame), new(frame.Frame)
	(&frame.Packet{TTL: 64, Payload: 100, BTH: frame.BTH{Opcode: frame.WriteOnly}, RETH: frame.RETH{Length: 100}}).Build(trimmed)
	trimmed.Trim(64, 10)
	(&frame.PFC{Enable: 8}).Build(pfc)
	(&frame.UET{Header: frame.Packet{TTL: 64}, Type: frame.UETControl, Control: frame.UETCredit}).Build(uet)
	for _, c := range []struct {
		frame *frame.Frame
		want  Kinds
	}{
		{built(frame.WriteFirst), Data},
		{built(frame.ReadResponseMiddle), Data},
		{built(frame.ReadResponseLast), Data},
		{built(frame.Acknowledge), ACK},
		{built(frame.AtomicAcknowledge), ACK},
		{built(frame.OpcodeCNP), CNP},
		{built(frame.ReadRequest), Request},
		{built(frame.FetchAdd), Request},
		{pfc, PFC},
		{uet, Credit},
		{trimmed, Trimmed},
		{new(frame.Frame), Other},
	} {
		if got := kindOf(c.frame); got != c.want {
			t.Errorf("%s has kinds %08b, want %08b", c.frame.Class(), got, c.want)
		}
	}
	set, err := ParseKinds([]string{"pfc", "cnp"})
	if err != nil || set != PFC|CNP || !set.Has(pfc) || set.Has(uet) || !Kinds(0).Has(uet) {
		t.Errorf("set %08b, %v", set, err)
	}
	if _, err := ParseKinds([]string{"pfc", "PAUSE"}); err == nil || !strings.Contains(err.Error(), `"PAUSE": must be one of data, ack,`) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// depths is a machine that has as many bytes queued as its port has a number.
type depths struct{ fabric.Machine }

func (depths) Depth(p fabric.Port) (queued, held unit.Bytes) {
	return unit.Bytes(p), 10 * unit.Bytes(p)
}

// A recorder keeps the frames at its ports within its window, up to its limit, and
// counts the others by port.
func TestRecorder(t *testing.T) {
	f := new(frame.Frame)
	(&frame.PFC{Enable: 8}).Build(f)
	r := NewRecorder(7, depths{}, []fabric.Port{1, 3}, Window{From: 10, To: 20, Kinds: PFC}, 3)
	look := Of(r).Frame
	show := func() (got []string) {
		for _, p := range r.Take() {
			got = append(got, fmt.Sprintf("%d n%d p%d %s %d/%d", p.At, p.Node, p.Port, p.Way, p.Queued, p.Held))
		}
		return got
	}
	for at := unit.Time(8); at < 22; at += 2 {
		for port := range fabric.Port(5) {
			look(at, port, node.Way(port&1), f)
			look(at, port, node.In, new(frame.Frame)) // of another kind
		}
	}
	want := []string{"10 n7 p1 out 1/10", "10 n7 p3 out 3/30", "12 n7 p1 out 1/10"}
	if d := cmp.Diff(want, show()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{0, 3, 0, 4}, r.Lost()); d != "" {
		t.Errorf("lost by port: %s", d)
	}
	look(19, 3, node.In, f)
	if d := cmp.Diff([]string{"19 n7 p3 in 3/30"}, show()); d != "" {
		t.Error(d)
	}
}

// Recorders at one node are independent of one another.
func TestRecordersSideBySide(t *testing.T) {
	if Of() != nil {
		t.Error("a tap without recorders")
	}
	all := Window{To: unit.Never}
	a, b := NewRecorder(0, depths{}, []fabric.Port{0}, all, 0), NewRecorder(0, depths{}, []fabric.Port{1}, all, 0)
	look := Of(a, b).Frame
	look(1, 0, node.In, new(frame.Frame))
	look(2, 1, node.Out, new(frame.Frame))
	if p := a.Take(); len(p) != 1 || p[0].At != 1 || p[0].Sent() {
		t.Errorf("at port 0: %v", p)
	}
	if p := b.Take(); len(p) != 1 || p[0].At != 2 || !p[0].Sent() {
		t.Errorf("at port 1: %v", p)
	}
}

func TestSortIsStablePerNode(t *testing.T) {
	packets := []Packet{{At: 2, Node: 1, Port: 4}, {At: 2, Node: 1, Port: 3}, {At: 1, Node: 5}, {At: 2, Node: 0}}
	Sort(packets, func(p Packet) (unit.Time, int) { return p.At, p.Node })
	var got []string
	for _, p := range packets {
		got = append(got, fmt.Sprintf("%d n%d p%d", p.At, p.Node, p.Port))
	}
	if d := cmp.Diff([]string{"1 n5 p0", "2 n0 p0", "2 n1 p4", "2 n1 p3"}, got); d != "" {
		t.Error(d)
	}
}

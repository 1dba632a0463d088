package imports

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// appendMessage appends a message with its length.
func appendMessage(b []byte, m proto.Message) []byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// etFile returns a trace of nodes.
func etFile(name string, nodes ...*chakrav1.Node) File {
	b := appendMessage(nil, &chakrav1.GlobalMetadata{Version: "1.0.0"})
	for _, n := range nodes {
		b = appendMessage(b, n)
	}
	return File{name, b}
}

// number is an attribute with an integer.
func number(name string, n int64) *chakrav1.Attribute {
	return &chakrav1.Attribute{Name: name, Value: &chakrav1.Attribute_Int64Val{Int64Val: n}}
}

// named is an attribute with text.
func named(name, text string) *chakrav1.Attribute {
	return &chakrav1.Attribute{Name: name, Value: &chakrav1.Attribute_StringVal{StringVal: text}}
}

// truth is an attribute that is true.
func truth(name string) *chakrav1.Attribute {
	return &chakrav1.Attribute{Name: name, Value: &chakrav1.Attribute_BoolVal{BoolVal: true}}
}

func metaNode(id uint64, deps ...uint64) *chakrav1.Node {
	return &chakrav1.Node{Id: id, Type: chakrav1.NodeType_NODE_TYPE_METADATA, CtrlDeps: deps}
}

// groupsNode describes process groups.
func groupsNode(id uint64, text string) *chakrav1.Node {
	n := metaNode(id)
	n.Inputs = &chakrav1.Values{Values: text}
	return n
}

func compNode(id, micros uint64, deps ...uint64) *chakrav1.Node {
	return &chakrav1.Node{Id: id, Type: chakrav1.NodeType_NODE_TYPE_COMP, DurationMicros: micros, DataDeps: deps}
}

func sendNode(id uint64, to, size, tag int64, deps ...uint64) *chakrav1.Node {
	return &chakrav1.Node{
		Id: id, Type: chakrav1.NodeType_NODE_TYPE_COMM_SEND, DataDeps: deps,
		Attr: []*chakrav1.Attribute{number("comm_dst", to), number("comm_size", size), number("comm_tag", tag)},
	}
}

func recvNode(id uint64, from, tag int64) *chakrav1.Node {
	return &chakrav1.Node{
		Id: id, Type: chakrav1.NodeType_NODE_TYPE_COMM_RECV,
		Attr: []*chakrav1.Attribute{number("comm_src", from), number("comm_tag", tag)},
	}
}

// collNode is a part in a collective: its comm_type, size and pg_name.
func collNode(id uint64, kind, size int64, group string, deps ...uint64) *chakrav1.Node {
	n := &chakrav1.Node{
		Id: id, Type: chakrav1.NodeType_NODE_TYPE_COMM_COLL, DataDeps: deps,
		Attr: []*chakrav1.Attribute{number("comm_type", kind), number("comm_size", size)},
	}
	if group != "" {
		n.Attr = append(n.Attr, named("pg_name", group))
	}
	return n
}

// with adds attributes.
func with(n *chakrav1.Node, attr ...*chakrav1.Attribute) *chakrav1.Node {
	n.Attr = append(n.Attr, attr...)
	return n
}

// imported returns the scenario of two ranks.
func chakraOf(rank0, rank1 []*chakrav1.Node) (*Imported, error) {
	return Chakra([]File{etFile("t.0.et", rank0...), etFile("t.1.et", rank1...)}, nil, nil, testLayout)
}

type nodes = []*chakrav1.Node

// The steps of a scenario are those of the nodes.
//
// IMP-1: Nodes become steps: COMP a calc, COMM_SEND and COMM_RECV messages with their tags. They wait for the nodes of
// ctrl_deps and data_deps, and in place of a node that is left out for those that it waits for.
func TestChakraNodes(t *testing.T) {
	for name, c := range map[string]struct {
		rank0, rank1 nodes
		want         string
		notes        []string
	}{
		"calc":                {nodes{compNode(7, 30)}, nil, "  h0: |\n    n7: calc 30us\n", nil},
		"no duration":         {nodes{compNode(7, 0)}, nil, "n7: calc 1ns\n", nil},
		"processor":           {nodes{with(compNode(7, 30), truth("is_cpu_op"))}, nil, "n7: calc 30us on 1\n", nil},
		"send":                {nodes{sendNode(1, 1, 5, 3)}, nodes{recvNode(1, 0, 3)}, "  h0: |\n    n1: send 5B to h1 tag 3\n  h1: |\n    n1: receive from h0 tag 3\n", nil},
		"no size":             {nodes{sendNode(1, 1, 0, 0)}, nodes{recvNode(1, 0, 0)}, "n1: send 1B to h1\n  h1: |\n    n1: receive from h0\n", []string{"1 node has size 0 of COMM_SEND: the message has 1 byte"}},
		"both kinds of waits": {nodes{compNode(1, 1), compNode(2, 2), {Id: 3, Type: chakrav1.NodeType_NODE_TYPE_COMP, CtrlDeps: []uint64{2}, DataDeps: []uint64{1, 2}}}, nil, "n3: calc 1ns after n2, n1\n", nil},
		"order of numbers":    {nodes{compNode(9, 1, 4), compNode(4, 2)}, nil, "    n4: calc 2us\n    n9: calc 1us after n4\n", nil},
		"left out": {nodes{
			compNode(1, 1), metaNode(2, 1),
			{Id: 3, Type: chakrav1.NodeType_NODE_TYPE_MEM_LOAD, DataDeps: []uint64{2}},
			{Id: 4, Type: chakrav1.NodeType_NODE_TYPE_MEM_STORE},
			{Id: 5},
			{Id: 6, Type: 8},
			{Id: 7, Type: 77},
			compNode(8, 5, 3, 4, 1),
		}, nil, "    n1: calc 1us\n    n8: calc 5us after n1\n", []string{"left out, with their waits passed on: nodes 1 77, 1 INVALID, 1 MEM_LOAD, 1 MEM_STORE, 1 METADATA, 1 STORAGE"}},
	} {
		out, err := chakraOf(c.rank0, c.rank1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !strings.HasSuffix(string(out.Scenario), c.want) || strings.Join(out.Notes, "\n") != strings.Join(c.notes, "\n") {
			t.Errorf("%s:\n%s\nnotes %q, want\n%s\nnotes %q", name, out.Scenario, out.Notes, c.want, c.notes)
		}
	}
}

// Integers may have any type.
func TestChakraIntegers(t *testing.T) {
	for _, v := range []*chakrav1.Attribute{
		{Value: &chakrav1.Attribute_Int32Val{Int32Val: 5}},
		{Value: &chakrav1.Attribute_Int64Val{Int64Val: 5}},
		{Value: &chakrav1.Attribute_Uint32Val{Uint32Val: 5}},
		{Value: &chakrav1.Attribute_Uint64Val{Uint64Val: 5}},
		{Value: &chakrav1.Attribute_Sint32Val{Sint32Val: 5}},
		{Value: &chakrav1.Attribute_Sint64Val{Sint64Val: 5}},
		{Value: &chakrav1.Attribute_Fixed32Val{Fixed32Val: 5}},
		{Value: &chakrav1.Attribute_Fixed64Val{Fixed64Val: 5}},
		{Value: &chakrav1.Attribute_Sfixed32Val{Sfixed32Val: 5}},
		{Value: &chakrav1.Attribute_Sfixed64Val{Sfixed64Val: 5}},
	} {
		v.Name = "comm_size"
		n := with(&chakrav1.Node{Id: 1, Type: chakrav1.NodeType_NODE_TYPE_COMM_SEND}, v, number("comm_dst", 1))
		if out, err := chakraOf(nodes{n}, nodes{recvNode(1, 0, 0)}); err != nil || !strings.Contains(string(out.Scenario), "n1: send 5B to h1\n") {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// IMP-2: The nth collective of a group in the order of the numbers of nodes is the nth at all of its ranks. It begins at a
// rank when the nodes that it waits for there are done.
func TestChakraCollectives(t *testing.T) {
	const pair, inverse = `["[{"pg_name": "1", "ranks": [0, 1]}]"]`, `[{"pg_name": "1", "ranks": [1, 0]}, {"pg_name": "2", "ranks": []}, {"pg_name": "3", "ranks": [0]}]`
	for name, c := range map[string]struct {
		rank0, rank1 nodes
		want         string
		notes        []string
	}{
		"all-reduce":     {nodes{collNode(1, 0, 80, "")}, nodes{collNode(1, 0, 80, "0")}, "  - {name: coll0, kind: all-reduce, ranks: [h0..h1], size: 80B}\n", nil},
		"all-gather":     {nodes{collNode(1, 2, 80, "")}, nodes{collNode(1, 2, 80, "")}, "  - {name: coll0, kind: all-gather, ranks: [h0..h1], size: 160B}\n", nil},
		"reduce-scatter": {nodes{collNode(1, 7, 80, "")}, nodes{collNode(1, 8, 80, "")}, "kind: reduce-scatter, ranks: [h0..h1], size: 80B}\n", nil},
		"one byte":       {nodes{collNode(1, 5, 1, "")}, nodes{collNode(1, 5, 1, "")}, "size: 1B}", []string{"2 nodes have BROADCAST without a root: the first rank of the group sends"}},
		"byte per rank":  {nodes{collNode(1, 0, 2, "")}, nodes{collNode(1, 0, 2, "")}, "size: 2B}", nil},
		"all-to-all":     {nodes{collNode(1, 6, 80, "")}, nodes{collNode(1, 6, 80, "")}, "kind: all-to-all, ranks: [h0..h1], size: 80B}\n", nil},
		"broadcast":      {nodes{collNode(1, 5, 80, "")}, nodes{collNode(1, 5, 80, "")}, "kind: broadcast, ranks: [h0..h1], size: 80B}\n", []string{"2 nodes have BROADCAST without a root: the first rank of the group sends"}},
		"barrier":        {nodes{collNode(1, 9, 80, "")}, nodes{collNode(1, 9, 0, "")}, "kind: barrier, ranks: [h0..h1]}\n", nil},
		"reduce":         {nodes{compNode(1, 1), collNode(2, 1, 80, "", 1), compNode(3, 1, 2)}, nil, "    n1: calc 1us\n    n3: calc 1us after n1\n", []string{"left out, with their waits passed on: nodes 1 COMM_COLL REDUCE"}},
		"nothing":        {nodes{collNode(1, 0, 0, "")}, nodes{collNode(1, 0, 0, "")}, "nics", []string{"left out, with their waits passed on: nodes 2 COMM_COLL of 0 bytes"}},
		"small":          {nodes{collNode(1, 0, 1, "")}, nodes{collNode(1, 0, 1, "")}, "size: 2B}", []string{"2 nodes have comm_size of COMM_COLL: too small for a byte per rank, which it becomes"}},
		"waits":          {nodes{compNode(1, 5), collNode(2, 0, 80, "", 1), compNode(3, 1, 2)}, nodes{collNode(7, 0, 80, "")}, "  h0: |\n    n1: calc 5us\n    coll0-in: calc 0s on 2 after n1\n    n3: calc 1us after coll0\ncollectives:\n  - {name: coll0, kind: all-reduce, ranks: [h0..h1], size: 80B, after: [coll0-in]}\n", nil},
		"chain":          {nodes{collNode(1, 0, 80, ""), collNode(2, 6, 90, "", 1)}, nodes{collNode(7, 0, 80, ""), collNode(9, 6, 90, "", 7)}, "    coll1-in: calc 0s on 2 after coll0\n", nil},
		"order":          {nodes{collNode(2, 6, 90, ""), collNode(1, 0, 80, "")}, nodes{collNode(5, 0, 80, ""), collNode(6, 6, 90, "")}, "  - {name: coll0, kind: all-reduce, ranks: [h0..h1], size: 80B}\n  - {name: coll1, kind: all-to-all, ranks: [h0..h1], size: 90B}\n", nil},
		"groups":         {nodes{groupsNode(1, inverse), collNode(2, 0, 80, "1"), collNode(3, 0, 70, "2"), collNode(4, 0, 70, "3")}, nodes{collNode(1, 0, 70, "2"), collNode(2, 0, 80, "1")}, "  - {name: coll0, kind: all-reduce, ranks: [h1, h0], size: 80B}\n  - {name: coll1, kind: all-reduce, ranks: [h0..h1], size: 70B}\n", []string{"left out, with their waits passed on: nodes 1 COMM_COLL of one rank, 1 METADATA"}},
		"quoted groups":  {nodes{groupsNode(1, pair), collNode(2, 0, 80, "1")}, nodes{groupsNode(1, pair), collNode(2, 0, 80, "1")}, "ranks: [h0..h1], size: 80B}", []string{"left out, with their waits passed on: nodes 2 METADATA"}},
		"other attributes": {
			nodes{with(collNode(1, 0, 80, ""), number("comm_priority", 1), &chakrav1.Attribute{Name: "involved_dim", Value: &chakrav1.Attribute_BoolList{BoolList: &chakrav1.Bools{Values: []bool{true, false}}}})},
			nodes{with(collNode(1, 0, 80, ""), number("comm_priority", 0), &chakrav1.Attribute{Name: "involved_dim", Value: &chakrav1.Attribute_BoolList{BoolList: &chakrav1.Bools{Values: []bool{true}}}})},
			"size: 80B}",
			[]string{"1 node has comm_priority: ignored", "1 node has involved_dim: ignored, all ranks of the group take part"},
		},
	} {
		out, err := chakraOf(c.rank0, c.rank1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := strings.Count(string(out.Scenario), "{name: coll"); n > 0 {
			c.notes = append(c.notes, have(n, "collective")+" the default algorithm of the kind: traces name none")
		}
		if !strings.Contains(string(out.Scenario), c.want) || strings.Join(out.Notes, "\n") != strings.Join(c.notes, "\n") {
			t.Errorf("%s:\n%s\nnotes %q, want\n%s\nnotes %q", name, out.Scenario, out.Notes, c.want, c.notes)
		}
	}
}

// Files may be compressed.
func TestChakraGzip(t *testing.T) {
	f := etFile("t.0.et.gz", compNode(1, 4))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(f.Data) // into memory
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Data = b.Bytes()
	if out, err := Chakra([]File{f}, nil, nil, testLayout); err != nil || !strings.Contains(string(out.Scenario), "n1: calc 4us\n") {
		t.Errorf("%v", err)
	}
	const limit = "larger than 3 bytes without compression, the most that can be imported"
	if _, err := unpacked(f.Data, 3); err == nil || err.Error() != limit {
		t.Errorf("%v, want %s", err, limit)
	}
	f.Data = f.Data[:len(f.Data)-9]
	if _, err := Chakra([]File{f}, nil, nil, testLayout); err == nil || err.Error() != "t.0.et.gz: unexpected EOF" {
		t.Errorf("%v", err)
	}
}

// No input panics, and what is accepted is a valid scenario.
func FuzzChakra(f *testing.F) {
	a := etFile("", groupsNode(1, `[{"pg_name": "1", "ranks": [0, 1]}]`), compNode(2, 5), collNode(3, 0, 80, "1", 1, 2), sendNode(4, 1, 5, 7, 3))
	b := etFile("", collNode(1, 0, 80, "1"), recvNode(2, 0, 7))
	f.Add(a.Data, b.Data, []byte(`{"1": [1, 0]}`))
	f.Add(b.Data, a.Data, []byte(nil))
	f.Fuzz(func(t *testing.T, a, b, groups []byte) {
		var g *File
		if groups != nil {
			g = &File{"g.json", groups}
		}
		if out, err := Chakra([]File{{"t.0.et", a}, {"t.1.et", b}}, g, nil, testLayout); err == nil {
			if _, err := scenariofile.Parse("s", out.Scenario); err != nil {
				t.Errorf("%v\n%s", err, out.Scenario)
			}
		}
	})
}

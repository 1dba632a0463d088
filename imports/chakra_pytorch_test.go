package imports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// pytorchFile returns a trace of nodes behind the metadata that Chakra's PyTorch converter writes: attributes and no
// version.
func pytorchFile(name string, nodes ...*chakrav1.Node) File {
	b := appendMessage(nil, &chakrav1.GlobalMetadata{Attr: []*chakrav1.Attribute{
		named("schema", "1.1.0-chakra.0.0.4"), number("pid", 7), named("time", "2024-06-10 11:38:21"),
	}})
	for _, n := range nodes {
		b = appendMessage(b, n)
	}
	return File{name, b}
}

const unversioned = "no version, as Chakra's PyTorch and Text converters write it: read by the schema of version 1.0.0"

// IMP-2: Traces without a version are read, and the first note says so.
func TestChakraWithoutVersion(t *testing.T) {
	var files []File
	for _, name := range []string{"noversion.0.et", "noversion.1.et"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{name, data})
	}
	out, err := Chakra(files, nil, nil, testLayout)
	if err != nil {
		t.Fatal(err)
	}
	if want := "  - {name: coll0, kind: all-reduce, ranks: [h0..h1], size: 1000000B}\n"; !strings.HasSuffix(string(out.Scenario), want) || out.Notes[0] != "2 files have "+unversioned {
		t.Errorf("%s\nnotes %q, want the end %s", out.Scenario, out.Notes, want)
	}
	bare := File{"t.0.et", appendMessage(appendMessage(nil, &chakrav1.GlobalMetadata{}), compNode(1, 4))}
	if out, err := Chakra([]File{bare}, nil, nil, testLayout); err != nil || out.Notes[0] != "1 file has "+unversioned {
		t.Errorf("empty metadata: %v", err)
	}
}

// IMP-2: Process groups are read as the PyTorch converter writes them: the text of a Python list around JSON text, also
// with Python's backslashes, and in nodes that older converters give another type.
func TestChakraPyTorchGroups(t *testing.T) {
	const group = `{"pg_name": "7", "pg_desc": "it's \"tp\"", "backend_config": "cuda:nccl", "ranks": [1, 0], "group_size": 2, "group_count": 3}`
	older := groupsNode(1, `['[`+strings.ReplaceAll(group, `it's \"tp\"`, "tp")+`]']`)
	older.Type, older.Name = chakrav1.NodeType_NODE_TYPE_COMP, "## process_group:init ##"
	for name, first := range map[string]*chakrav1.Node{
		"Python":   groupsNode(1, `['[`+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(group)+`]']`),
		"JSON":     groupsNode(1, `["[`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(group)+`]"]`),
		"plain":    groupsNode(1, ` [`+group+`]`),
		"any type": older,
	} {
		out, err := Chakra([]File{pytorchFile("t.0.et", first, collNode(2, 0, 80, "7")), pytorchFile("t.1.et", collNode(2, 0, 80, "7"))}, nil, nil, testLayout)
		if err != nil || !strings.Contains(string(out.Scenario), "ranks: [h1, h0], size: 80B}") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// IMP-1: What the PyTorch converter leaves out is assumed, and a note says what: messages without a rank at the other end
// are left out, and a wait by ctrl_deps for a node that it has removed is ignored.
func TestChakraPyTorchGaps(t *testing.T) {
	message := func(id uint64, kind chakrav1.NodeType, deps ...uint64) *chakrav1.Node {
		return with(&chakrav1.Node{Id: id, Type: kind, DataDeps: deps}, number("comm_size", 80), named("pg_name", "0"))
	}
	called := compNode(4, 9, 2)
	called.CtrlDeps = []uint64{77, 1}
	out, err := Chakra([]File{
		pytorchFile("t.0.et", compNode(1, 5), message(2, chakrav1.NodeType_NODE_TYPE_COMM_SEND, 1), called),
		pytorchFile("t.1.et", compNode(1, 5), message(2, chakrav1.NodeType_NODE_TYPE_COMM_RECV, 1)),
	}, nil, nil, testLayout)
	if err != nil {
		t.Fatal(err)
	}
	const want = "  h0: |\n    n1: calc 5us\n    n4: calc 9us after n1\n  h1: |\n    n1: calc 5us\n"
	if !strings.HasSuffix(string(out.Scenario), want) {
		t.Errorf("%s\nwant the end\n%s", out.Scenario, want)
	}
	const notes = "2 files have " + unversioned + `
left out, with their waits passed on: nodes 1 COMM_RECV without comm_src, 1 COMM_SEND without comm_dst
1 node has ctrl_deps: ignored, on a node that the file does not have`
	if got := strings.Join(out.Notes, "\n"); got != notes {
		t.Errorf("notes\n%s\nwant\n%s", got, notes)
	}
}

package imports

import (
	"strings"
	"testing"

	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// IMP-2: All faults of the traces are reported, with file and node: also kinds and sizes that differ between ranks.
func TestChakraFaults(t *testing.T) {
	big := etFile("t.0.et").Data
	for name, c := range map[string]struct {
		rank0, rank1 nodes
		want         string
	}{
		"attributes": {nodes{
			with(sendNode(1, 9, -1, 1<<31), number("comm_src", 1)),
			with(&chakrav1.Node{Id: 2, Type: chakrav1.NodeType_NODE_TYPE_COMM_SEND}, number("comm_dst", 1)),
			recvNode(3, 0, 0), compNode(4, 1e9+1), collNode(5, 10, 5, ""), collNode(6, 0, -1, ""),
			with(recvNode(7, 1, 0), number("comm_dst", 1)),
			with(&chakrav1.Node{Id: 8, Type: chakrav1.NodeType_NODE_TYPE_COMM_RECV}, named("comm_src", "1")),
			with(&chakrav1.Node{Id: 9, Type: chakrav1.NodeType_NODE_TYPE_COMM_RECV}, &chakrav1.Attribute{Name: "comm_src", Value: &chakrav1.Attribute_Uint64Val{Uint64Val: 1 << 63}}),
			with(&chakrav1.Node{Id: 10, Type: chakrav1.NodeType_NODE_TYPE_COMM_RECV}, &chakrav1.Attribute{Name: "comm_src", Value: &chakrav1.Attribute_Fixed64Val{Fixed64Val: 1 << 63}}),
		}, nil, `t.0.et: node 1: comm_src 1 in the trace of rank 0
t.0.et: node 1: comm_size -1, want an integer from 0 to 2147483648
t.0.et: node 1: comm_dst 9, want an integer from 0 to 1
t.0.et: node 1: comm_tag 2147483648, want an integer from 0 to 2147483647
t.0.et: node 2: no attribute comm_size, want an integer from 0 to 2147483648
t.0.et: node 3: comm_src 0 is the rank of the trace, which exchanges a message with itself
t.0.et: node 4: duration_micros 1000000001, want at most 1000000000
t.0.et: node 5: comm_type 10, want an integer from 0 to 9
t.0.et: node 6: comm_size -1, want an integer from 0 to 1099511627776
t.0.et: node 7: comm_dst 1 in the trace of rank 0
t.0.et: node 8: comm_src has another type, or is 2^63 or more: want an integer from 0 to 1
t.0.et: node 9: comm_src has another type, or is 2^63 or more: want an integer from 0 to 1
t.0.et: node 10: comm_src has another type, or is 2^63 or more: want an integer from 0 to 1`},
		"numbers": {nodes{compNode(1, 1), compNode(1, 1)}, nodes{compNode(2, 1, 7)}, `t.0.et: node 1: its number is that of another node
t.1.et: node 2: waits for node 7, which the file does not have`},
		"cycle": {nodes{compNode(1, 1, 4), compNode(2, 1, 5, 3), metaNode(3, 4), compNode(4, 1, 2), compNode(5, 1)}, nil, "t.0.et: node 4: 3 nodes wait for each other: 4, 2, 3"},
		"kinds": {
			nodes{collNode(1, 0, 5, ""), collNode(2, 9, 0, "")},
			nodes{collNode(4, 0, 5, ""), collNode(5, 0, 5, ""), collNode(6, 0, 5, "")},
			`t.1.et: node 5: collective 1 of group "" is all-reduce of 5 bytes, but barrier of 0 bytes at node 2 of t.0.et
t.1.et: 3 collectives of group "", but 2 in t.0.et`,
		},
		"one kind": {nodes{collNode(1, 0, 5, "")}, nodes{collNode(4, 6, 5, "")}, `t.1.et: node 4: collective 0 of group "" is all-to-all of 5 bytes, but all-reduce of 5 bytes at node 1 of t.0.et`},
		"long cycle": {nodes{
			compNode(1, 1, 9), compNode(2, 1, 1), compNode(3, 1, 2), compNode(4, 1, 3), compNode(5, 1, 4),
			compNode(6, 1, 5), compNode(7, 1, 6), compNode(8, 1, 7), compNode(9, 1, 8),
		}, nil, "t.0.et: node 1: 9 nodes wait for each other: 1, 9, 8, 7, 6, 5, 4, 3"},
		"sizes": {nodes{collNode(1, 0, 5, "")}, nodes{collNode(4, 0, 6, "")}, `t.1.et: node 4: collective 0 of group "" is all-reduce of 6 bytes, but all-reduce of 5 bytes at node 1 of t.0.et`},
		"group": {
			nodes{groupsNode(1, `[{"pg_name": "1", "ranks": [1]}]`), collNode(2, 0, 5, "1"), collNode(3, 0, 5, "2")},
			nil,
			`t.0.et: node 2: rank 0 is not in group "1", which has [1]
t.0.et: node 3: no METADATA node and no file of groups describes group "2"`,
		},
		"groups": {nodes{groupsNode(1, `[{"pg_name": "1"`), groupsNode(2, `[{"ranks": [1]}, {"pg_name": "1", "ranks": [-1]}, {"pg_name": "2", "ranks": [0]}]`)}, nodes{groupsNode(1, `[{"pg_name": "2", "ranks": [1]}]`)}, `t.0.et: node 1: process groups: unexpected end of JSON input, want [{"pg_name": "1", "ranks": [0, 1]}]
t.0.et: node 2: a process group has no pg_name
t.0.et: node 2: group "1": rank -1, want an integer from 0 to 1
t.1.et: node 1: group "2" has ranks [1], but [0] at another node`},
		"message": {nodes{recvNode(1, 1, 0)}, nil, "t.0.et: node 1: receive from h1 tag 0: nothing sends this message"},
	} {
		if _, err := chakraOf(c.rank0, c.rank1); err == nil || !strings.HasPrefix(err.Error()+"\n", c.want) || !strings.HasSuffix(c.want, ":") && err.Error() != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		files []File
		want  string
	}{
		"no file":    {nil, "no traces, want one of each rank"},
		"name":       {[]File{etFile("t.et"), etFile("t.0.txt")}, "t.et: no rank in the name, want NAME.RANK.et\nt.0.txt: no rank in the name, want NAME.RANK.et"},
		"missing":    {[]File{etFile("t.2.et"), etFile("t.0.et")}, "t.2.et: no trace of rank 1, want one of each rank from 0 on"},
		"twice":      {[]File{etFile("t.0.et"), etFile("u.0.et")}, "u.0.et: rank 0 has another trace, t.0.et"},
		"empty":      {[]File{{"t.0.et", nil}}, "t.0.et: message 0: the file ends within it"},
		"no version": {[]File{{"t.0.et", appendMessage(nil, compNode(1, 1))}}, "t.0.et: message 0: neither version nor attributes, want a trace of Chakra, which begins with its metadata"},
		"cut by 4":   {[]File{{"t.0.et", append(big, 5, 1)}}, "t.0.et: message 1: the file ends within it"},
		"cut by 1":   {[]File{{"t.0.et", append(big, 2, 1)}}, "t.0.et: message 1: the file ends within it"},
		"too many":   {[]File{{"t.0.et", append(big, make([]byte, 1<<21+1)...)}}, "t.0.et: message 2097153: the traces have more than 2097152 nodes, the most that can be imported"},
		"garbage":    {[]File{{"t.0.et", append(big, 1, 0xff)}}, "t.0.et: message 1: malformed, want a Node in protobuf"},
	} {
		if _, err := Chakra(c.files, nil, nil, testLayout); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", name, err, c.want)
		}
	}
}

// A file of groups takes the place of those in the traces.
func TestChakraGroupsFile(t *testing.T) {
	traces := []File{
		etFile("t.0.et", groupsNode(1, `[{"pg_name": "5", "ranks": [0]}]`), collNode(2, 0, 80, "5")),
		etFile("t.1.et", collNode(1, 0, 80, "5")),
	}
	out, err := Chakra(traces, &File{"groups.json", []byte(`{"5": [1, 0]}`)}, nil, testLayout)
	if err != nil || !strings.Contains(string(out.Scenario), "ranks: [h1, h0], size: 80B}") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		`{"5": [1, 2], "6": [0, 0]}`: "groups.json: group \"5\": rank 2, want an integer from 0 to 1\ngroups.json: group \"6\": rank 0 comes twice",
		`{"": [1]}`:                  `groups.json: group "": want a name`,
		`[1]`:                        `groups.json: json: cannot unmarshal array`,
		`{"6": []}`:                  "t.0.et: node 2: no METADATA node and no file of groups describes group \"5\"",
	} {
		if _, err := Chakra(traces, &File{"groups.json", []byte(text)}, nil, testLayout); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

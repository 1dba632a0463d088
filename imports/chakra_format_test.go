package imports

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// etMessage is a message in protobuf, made field by field with the numbers of et_def.proto.
type etMessage []byte

func (m etMessage) varint(number protowire.Number, v uint64) etMessage {
	return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), v)
}

func (m etMessage) text(number protowire.Number, v string) etMessage {
	return protowire.AppendString(protowire.AppendTag(m, number, protowire.BytesType), v)
}

func (m etMessage) inside(number protowire.Number, v etMessage) etMessage {
	return m.text(number, string(v))
}

// etBytes returns a trace of messages.
func etBytes(name string, list ...etMessage) File {
	var b []byte
	for _, m := range append([]etMessage{etMessage{}.text(1, "0.0.4").inside(2, etMessage{}.text(1, "schema").text(29, "x"))}, list...) {
		b = append(binary.AppendUvarint(b, uint64(len(m))), m...)
	}
	return File{name, b}
}

// Fields have the numbers of the format, and those that are not read are skipped. Lists of numbers may be packed or
// not.
func TestChakraFormat(t *testing.T) {
	groups := etMessage{}.varint(1, 1).text(2, "groups").varint(3, 1).
		inside(8, etMessage{}.text(1, `[{"pg_name": "7", "ranks": [1, 0]}]`).text(2, "[]").text(3, "[]"))
	load := etMessage{}.varint(1, 2).varint(3, 2).inside(4, etMessage(protowire.AppendVarint(nil, 1)))
	calc := etMessage{}.varint(1, 3).text(2, "calc").varint(3, 4).varint(4, 2).varint(5, 1).varint(6, 99).varint(7, 30).inside(9, etMessage{}.text(1, "[]")).
		inside(10, etMessage{}.text(1, "is_cpu_op").varint(27, 1)).inside(11, etMessage{}.varint(1, 1))
	send := etMessage{}.varint(1, 4).varint(3, 5).inside(5, etMessage(protowire.AppendVarint(protowire.AppendVarint(nil, 3), 2))).
		inside(10, etMessage{}.text(1, "comm_src").text(2, "rank").varint(7, 0)).
		inside(10, etMessage{}.text(1, "comm_dst").varint(9, 1)).
		inside(10, etMessage{}.text(1, "comm_size").varint(13, 5)).
		inside(10, etMessage{}.text(1, "comm_tag").varint(11, 6)).
		inside(10, append(etMessage{}.text(1, "weight"), protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), math.Float64bits(1))...))
	receive := etMessage{}.varint(1, 4).varint(3, 6).
		inside(10, append(etMessage{}.text(1, "comm_src"), protowire.AppendFixed32(protowire.AppendTag(nil, 19, protowire.Fixed32Type), 0)...)).
		inside(10, append(etMessage{}.text(1, "comm_dst"), protowire.AppendFixed64(protowire.AppendTag(nil, 25, protowire.Fixed64Type), 1)...)).
		inside(10, append(etMessage{}.text(1, "comm_tag"), protowire.AppendFixed32(protowire.AppendTag(nil, 23, protowire.Fixed32Type), 6)...))
	gather := etMessage{}.varint(1, 5).varint(3, 7).
		inside(10, etMessage{}.text(1, "comm_type").varint(15, protowire.EncodeZigZag(2))).
		inside(10, etMessage{}.text(1, "comm_size").varint(17, protowire.EncodeZigZag(80))).
		inside(10, append(etMessage{}.text(1, "comm_priority"), protowire.AppendFixed64(protowire.AppendTag(nil, 21, protowire.Fixed64Type), 1)...)).
		inside(10, etMessage{}.text(1, "involved_dim").inside(28, etMessage{}.varint(1, 0))).
		inside(10, etMessage{}.text(1, "pg_name").text(29, "7"))
	out, err := Chakra([]File{etBytes("t.0.et", groups, load, calc, send, gather), etBytes("t.1.et", receive, gather)}, nil, nil, testLayout)
	if err != nil {
		t.Fatal(err)
	}
	const want = `programs:
  h0: |
    n3: calc 30us on 1
    n4: send 5B to h1 tag 6 after n3
  h1: |
    n4: receive from h0 tag 6
collectives:
  - {name: coll0, kind: all-gather, ranks: [h1, h0], size: 160B}
`
	if !strings.HasSuffix(string(out.Scenario), want) {
		t.Errorf("%s\nwant\n%s", out.Scenario, want)
	}
	const notes = `left out, with their waits passed on: nodes 1 MEM_LOAD, 1 METADATA
2 nodes have comm_priority: ignored
2 nodes have involved_dim: ignored, all ranks of the group take part
1 collective has the default algorithm of the kind: traces name none`
	if got := strings.Join(out.Notes, "\n"); got != notes {
		t.Errorf("notes %s\nwant\n%s", got, notes)
	}
}

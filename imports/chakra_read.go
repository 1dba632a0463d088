package imports

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// chakraNodes is the largest number of nodes of all ranks.
const chakraNodes = 1 << 21

// read reads the trace of a rank: messages with their lengths before them. The first one is the metadata,
// the others are nodes.
func (c *chakra) read(r *chakraRank, f File) {
	data, err := unpacked(f.Data, MaxFile)
	if err != nil {
		c.add(fmt.Sprintf("%s: %v", f.Name, err))
		return
	}
	for n := 0; len(data) > 0 || n == 0; n++ {
		message, rest, ok := framed(data)
		if !ok {
			c.add(fmt.Sprintf("%s: message %d: the file ends within it", f.Name, n))
			return
		}
		if data = rest; n == 0 {
			err = c.metadata(message)
		} else {
			err = c.node(r, message)
		}
		if err != nil {
			c.add(fmt.Sprintf("%s: message %d: %v", f.Name, n, err))
			return
		}
	}
	c.sort(r)
}

// unpacked returns the content of a file, which may be compressed with gzip, of at most limit bytes.
func unpacked(data []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err == nil && len(all) > limit {
		err = fmt.Errorf("larger than %d bytes without compression, the most that can be imported", limit)
	}
	return all, err
}

// framed returns the first message and the rest.
func framed(data []byte) (message, rest []byte, ok bool) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(size)], data[n+int(size):], true
}

// metadata checks the first message. The version may be missing: the PyTorch and the Text converter of Chakra write
// attributes only.
func (c *chakra) metadata(message []byte) error {
	var m chakrav1.GlobalMetadata
	if err := unmarshal(message, &m); err != nil {
		return err
	}
	if m.GetVersion() != "" {
		return nil
	}
	if len(message) > 0 && len(m.GetAttr()) == 0 {
		return fmt.Errorf("neither version nor attributes, want a trace of Chakra, which begins with its metadata")
	}
	c.unversioned++
	return nil
}

// node adds the node of a message.
func (c *chakra) node(r *chakraRank, message []byte) error {
	if c.nodes++; c.nodes > chakraNodes {
		return fmt.Errorf("the traces have more than %d nodes, the most that can be imported", chakraNodes)
	}
	var m chakrav1.Node
	if err := unmarshal(message, &m); err != nil {
		return err
	}
	n := chakraNode{id: m.GetId(), callers: len(m.GetCtrlDeps()), deps: slices.Concat(m.GetCtrlDeps(), m.GetDataDeps())}
	c.action(r, &m, &n)
	r.nodes = append(r.nodes, n)
	return nil
}

// unmarshal decodes a message. The text of the errors of package proto differs from build to build.
func unmarshal(message []byte, into proto.Message) error {
	if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(message, into) != nil {
		return fmt.Errorf("malformed, want a %s in protobuf", into.ProtoReflect().Descriptor().Name())
	}
	return nil
}

// sort orders the nodes of a rank by their numbers.
func (c *chakra) sort(r *chakraRank) {
	slices.SortStableFunc(r.nodes, func(a, b chakraNode) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(r.nodes); i++ {
		if id := r.nodes[i].id; id == r.nodes[i-1].id {
			c.at(r, id, "its number is that of another node")
		}
	}
	for i := range r.nodes {
		c.checkWaits(r, &r.nodes[i])
	}
}

// checkWaits checks that the nodes that a node waits for exist. Those of ctrl_deps that do not are left out: the
// PyTorch converter removes nodes without data_deps, and keeps the ctrl_deps on them.
func (c *chakra) checkWaits(r *chakraRank, n *chakraNode) {
	kept := n.deps[:0]
	for i, id := range n.deps {
		switch {
		case r.index(id) >= 0:
			kept = append(kept, id)
		case i < n.callers:
			c.removed++
		default:
			c.at(r, n.id, "waits for node %d, which the file does not have", id)
		}
	}
	n.deps = kept
}

// index returns the index of a node, -1 if there is none.
func (r *chakraRank) index(id uint64) int {
	i, found := slices.BinarySearchFunc(r.nodes, id, func(n chakraNode, id uint64) int { return cmp.Compare(n.id, id) })
	if !found {
		return -1
	}
	return i
}

// typeName returns a type of nodes as the format names it: "MEM_LOAD".
func typeName(t chakrav1.NodeType) string {
	if t == chakrav1.NodeType_NODE_TYPE_UNSPECIFIED {
		return "INVALID"
	}
	return strings.TrimPrefix(t.String(), "NODE_TYPE_")
}

package imports

import (
	"fmt"
	"math"

	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// chakraNode is a node of a trace. A node without text and call is left out.
type chakraNode struct {
	id      uint64
	deps    []uint64    // numbers of the nodes that it waits for, those of ctrl_deps first
	callers int         // number of ctrl_deps
	text    string      // of its step
	call    *chakraCall // of a collective
}

// Processors of programs. That of gates does nothing else, so that it delays none.
const (
	chakraCPU  = 1 // operations with is_cpu_op
	chakraGate = 2
)

// chakraTime is the longest duration of a node, in microseconds: 1000 s.
const chakraTime = 1e9

// action reads what a node does.
func (c *chakra) action(r *chakraRank, m *chakrav1.Node, n *chakraNode) {
	a := attributes{c, r, m}
	c.processGroups(r, m)
	switch m.GetType() {
	case chakrav1.NodeType_NODE_TYPE_COMP:
		n.text = a.compute()
	case chakrav1.NodeType_NODE_TYPE_COMM_SEND:
		n.text = a.send()
	case chakrav1.NodeType_NODE_TYPE_COMM_RECV:
		n.text = a.receive()
	case chakrav1.NodeType_NODE_TYPE_COMM_COLL:
		n.call = a.collective()
	default:
		c.left[typeName(m.GetType())]++
	}
}

// attributes are those of a node.
type attributes struct {
	*chakra
	rank *chakraRank
	node *chakrav1.Node
}

// compute returns a calculation.
func (a *attributes) compute() string {
	us := a.node.GetDurationMicros()
	if us > chakraTime {
		a.at(a.rank, a.node.GetId(), "duration_micros %d, want at most %d", us, uint64(chakraTime))
		us = 0
	}
	a.calc += float64(us) / 1e6
	a.steps++
	text := "calc 1ns"
	if us > 0 {
		text = fmt.Sprintf("calc %dus", us)
	}
	if a.named("is_cpu_op").GetBoolVal() {
		text += fmt.Sprintf(" on %d", chakraCPU)
	}
	return text
}

// send returns a message to another rank, "" if the node names none.
func (a *attributes) send() string {
	if a.without("comm_dst") {
		return ""
	}
	a.own("comm_src")
	size, _ := a.integer("comm_size", 0, goalMessage, true)
	if size == 0 {
		a.empty++
		size = 1
	}
	a.bytes += float64(size)
	a.steps++
	return fmt.Sprintf("send %dB to h%d%s", size, a.peer("comm_dst"), a.tag())
}

// receive returns a message from another rank, "" if the node names none. Its size is that of the message.
func (a *attributes) receive() string {
	if a.without("comm_src") {
		return ""
	}
	a.own("comm_dst")
	a.steps++
	return fmt.Sprintf("receive from h%d%s", a.peer("comm_src"), a.tag())
}

// without reports whether a message has no attribute for the rank at its other end, and is left out. The PyTorch
// converter writes neither comm_src nor comm_dst.
func (a *attributes) without(name string) bool {
	missing := a.named(name) == nil
	if missing {
		a.left[typeName(a.node.GetType())+" without "+name]++
	}
	return missing
}

// own checks that the rank at this end of a message is the rank of the trace.
func (a *attributes) own(name string) {
	if a.named(name) == nil {
		return
	}
	if n, ok := a.integer(name, 0, int64(len(a.ranks))-1, true); ok && int(n) != a.rank.rank {
		a.at(a.rank, a.node.GetId(), "%s %d in the trace of rank %d", name, n, a.rank.rank)
	}
}

// peer returns the rank at the other end of a message.
func (a *attributes) peer(name string) int64 {
	n, ok := a.integer(name, 0, int64(len(a.ranks))-1, true)
	if ok && int(n) == a.rank.rank {
		a.at(a.rank, a.node.GetId(), "%s %d is the rank of the trace, which exchanges a message with itself", name, n)
	}
	return n
}

func (a *attributes) tag() string {
	if n, _ := a.integer("comm_tag", 0, goalTags, false); n > 0 {
		return fmt.Sprintf(" tag %d", n)
	}
	return ""
}

// named returns an attribute, nil if there is none.
func (a *attributes) named(name string) *chakrav1.Attribute {
	for _, attr := range a.node.GetAttr() {
		if attr.GetName() == name {
			return attr
		}
	}
	return nil
}

// integer returns an attribute in a range. Otherwise it adds a fault and returns the least number. An attribute that
// is missing and not required is 0.
func (a *attributes) integer(name string, lo, hi int64, required bool) (n int64, ok bool) {
	attr := a.named(name)
	if attr == nil && !required {
		return 0, true
	}
	n, ok = integerOf(attr)
	switch {
	case attr == nil:
		a.at(a.rank, a.node.GetId(), "no attribute %s, want an integer from %d to %d", name, lo, hi)
	case !ok:
		a.at(a.rank, a.node.GetId(), "%s has another type, or is 2^63 or more: want an integer from %d to %d", name, lo, hi)
	case n < lo || n > hi:
		a.at(a.rank, a.node.GetId(), "%s %d, want an integer from %d to %d", name, n, lo, hi)
	default:
		return n, true
	}
	return lo, false
}

// integerOf returns the value of an attribute, whatever the type of the integer.
func integerOf(attr *chakrav1.Attribute) (n int64, ok bool) {
	switch v := attr.GetValue().(type) {
	case *chakrav1.Attribute_Int32Val:
		return int64(v.Int32Val), true
	case *chakrav1.Attribute_Int64Val:
		return v.Int64Val, true
	case *chakrav1.Attribute_Uint32Val:
		return int64(v.Uint32Val), true
	case *chakrav1.Attribute_Uint64Val:
		return int64(v.Uint64Val), v.Uint64Val <= math.MaxInt64
	case *chakrav1.Attribute_Sint32Val:
		return int64(v.Sint32Val), true
	case *chakrav1.Attribute_Sint64Val:
		return v.Sint64Val, true
	case *chakrav1.Attribute_Fixed32Val:
		return int64(v.Fixed32Val), true
	case *chakrav1.Attribute_Fixed64Val:
		return int64(v.Fixed64Val), v.Fixed64Val <= math.MaxInt64
	case *chakrav1.Attribute_Sfixed32Val:
		return int64(v.Sfixed32Val), true
	case *chakrav1.Attribute_Sfixed64Val:
		return v.Sfixed64Val, true
	}
	return 0, false
}

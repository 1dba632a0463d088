package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// engineConfig returns an engine with few units and without pacing.
func engineConfig() EngineConfig {
	return EngineConfig{
		CommandSlots: 16, FlowQueues: 8, FlowSlots: 8, Units: 8, ResponseUnits: 4,
		GetLimit: 64, PutLimit: 64, Length: work.Length{Header: 40, Scale: 1}, Counters: 2,
		Pacing: shaper.PacingOff, Gate: shaper.GateFull, Policy: shaper.RoundRobin,
		Classes: []ShapingClass{{
			Class: dataPrio, DSCP: dataDSCP, Requests: shaper.Leaf{Weight: 1}, Responses: shaper.Leaf{Weight: 1},
		}},
	}
}

// newExchange returns a bench of hosts in which connection i leads from host 0 to host
// 1+i.
func newExchange(t testing.TB, connections int, change ...func(*Config)) *fabricBench {
	t.Helper()
	return newBench(t, 1+connections, nil, append([]func(*Config){func(c *Config) {
		c.Engine = engineConfig()
		for i := range connections {
			k := ConnectionConfig{ID: fabric.FlowID(i), From: 0, To: 1 + i, Class: dataPrio, Payload: c.Payload, Source: uint16(49152 + i)}
			if k.From == c.Host || k.To == c.Host {
				c.Connections = append(c.Connections, k)
			}
		}
	}}, change...)...)
}

// post posts a command at host 0.
func (b *fabricBench) post(connection fabric.FlowID, c work.Command) {
	b.t.Helper()
	c.Counter = -1
	b.postCommand(connection, c)
}

// postCommand posts a command at host 0 as its schedule does.
func (b *fabricBench) postCommand(connection fabric.FlowID, c work.Command) {
	b.t.Helper()
	n, out := b.nics[0], fabric.Out{}
	n.now = b.now
	if err := n.qps.Engine.Post(PostConfig{Connection: connection, Series: work.Series{Command: c, At: b.now, Count: 1}}); err != nil {
		b.t.Fatal(err)
	}
	n.qps.Engine.Tick(b.now, &out)
	b.take(0, &out)
}

func get(id uint32, size unit.Bytes) work.Command {
	return work.Command{ID: id, Verb: work.Get, Size: size}
}

func put(id uint32, size unit.Bytes) work.Command {
	return work.Command{ID: id, Verb: work.Put, Size: size}
}

func isResponse(f *frame.Frame) bool {
	op := f.Opcode()
	return op >= frame.ReadResponseFirst && op <= frame.ReadResponseOnly
}
func isReadRequest(f *frame.Frame) bool { return f.Opcode() == frame.ReadRequest }

// done returns the IDs of the completed commands of host 0, in order of completion.
func (b *fabricBench) done() (ids []uint32) {
	for _, n := range b.noted(0, fabric.CommandDone) {
		ids = append(ids, n.Command())
	}
	return ids
}

// delivered returns the payload delivered to a host, in bytes.
func (b *fabricBench) delivered(host int) (sum unit.Bytes) {
	for _, n := range b.noted(host, fabric.Delivered) {
		sum += n.Bytes()
	}
	return sum
}

func opcodes(frames []sentFrame) (ops []frame.Opcode) {
	for i := range frames {
		ops = append(ops, frames[i].Opcode())
	}
	return ops
}

package fabric

import (
	"encoding/binary"
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Verb says what a Change does.
type Verb uint8

// Verbs. A change that a machine has no use for, or that asks for what is so
// already, changes nothing.
const (
	AddFlows Verb = iota + 1 // Flows begin or end here
	StopFlow                 // the sender of Flow sends nothing more, not even again
	LinkDown                 // the link at Port is cut; what is on the wire is lost
	LinkUp                   // it is whole again
	Reroute                  // Routes take effect, as they do with LinkDown and LinkUp
	Freeze                   // the NIC neither sends nor takes anything in
	Thaw                     // it goes on
	Tune                     // the setting Key becomes Value
	Post                     // Connections begin or end here, the host posts Works
	Choose                   // the flows of Pairs are under the scheme Word
	Mark                     // the Classes are marked by the law Word
)

var verbNames = [...]string{
	AddFlows: "add-flows", StopFlow: "stop-flow", LinkDown: "link-down", LinkUp: "link-up",
	Reroute: "reroute", Freeze: "freeze", Thaw: "thaw", Tune: "tune", Post: "post", Choose: "choose", Mark: "mark",
}

// String names the verb, "link-down".
func (v Verb) String() string {
	if int(v) < len(verbNames) && verbNames[v] != "" {
		return verbNames[v]
	}
	return fmt.Sprintf("verb(%d)", uint8(v))
}

// Key is a setting that changes while a machine runs.
type Key uint8

// Keys, with the unit of their value. Those of a switch hold for all of its
// ports. A change that names classes gives them a value of their own; one that names
// none concerns, from XOFF to Quanta, the lossless classes, and with RED's keys all
// classes, that have no value of their own.
const (
	KeyXOFF         Key = iota + 1 // bytes, 0 for the dynamic threshold
	KeyXON                         // bytes
	KeyAlphaShift                  // power of 2; of a class of its own, in the place of a static threshold
	KeyQuanta                      // 512 bit times
	KeyKmin                        // bytes
	KeyKmax                        // bytes
	KeyPmax                        // math.Float64bits
	KeyAckEvery                    // packets
	KeyTimeout                     // ps, 0 for none
	KeyControlRate                 // packets per second, 0 for no limit
	KeyRTTIncrement                // base increment D of a converter, ps, 0 for the formula
	KeyLoss                        // of the link at Port, towards the machine; math.Float64bits
	KeyCorrupt                     // same
)

// DataDSCP is the code point of flows whose class says no other: data on DSCP 26 is
// the common RoCE deployment.
const DataDSCP uint8 = 26

// Flow is one flow: a queue pair that WRITEs one message. Hosts are indices
// among the NICs.
type Flow struct {
	ID       FlowID
	From, To int
	Size     unit.Bytes // -1 sends until the run ends
	Start    unit.Time
	Initial  unit.Rate // 0 is line rate
	Source   uint16    // UDP source port, the flow's entropy
	DSCP     uint8     // code point of its data, 0 to 63; its class follows
	// Baseline says that one of the ends does not speak CETH.
	Baseline bool
	// Excess says that the receiver wants to be told of credit that the sender cannot
	// spend, whatever the scheme (CBRC-36, mode B of one receiver).
	Excess bool
}

// Connection is a pair of queue pairs for commands: frame.SenderQP(ID) at the
// initiator, frame.ReceiverQP(ID) at the target. Hosts are indices among the NICs.
type Connection struct {
	ID       FlowID
	From, To int // initiator and target
	Class    Priority
	Payload  unit.Bytes // largest of a packet, the same at both ends
	Source   uint16     // UDP source port
	Baseline bool       // as in Flow
}

// Work is commands that a host posts to its NIC: Count of them, the first at the
// instant of the change and each Every later than the one before.
type Work struct {
	Connection FlowID
	ID         uint32 // of the first; they count up
	Verb       uint8  // of package nic/command
	Size       unit.Bytes
	Every      unit.Time
	Count      int
}

// Change is a control change of one machine at a named instant.
type Change struct {
	At     unit.Time
	Value  int64    // of Tune
	Flows  []Flow   // of AddFlows
	Routes [][]Port // by host, of Reroute, and of LinkDown and LinkUp at a switch
	Port   Port     // of LinkDown and LinkUp, and of Tune for a setting of a link
	Flow   FlowID   // of StopFlow
	Verb   Verb
	Key    Key // of Tune
	// Connections and Works are of Post.
	Connections []Connection
	Works       []Work
	Word        string // of Choose and Mark, a name of package cc
	Pairs       []Pair // of Choose: those of which the NIC is one end
	Classes     uint8  // of Mark, and of Tune unless it is 0: bit per class
}

// Pair is data from one host to another, by index among the NICs.
type Pair struct{ From, To int }

// changeMark stands in the canonical bytes where those of an arrival have the
// port.
const changeMark = 1<<32 - 1

// Append writes the change's canonical bytes behind b: its instant, then
// everything else, the same on every machine.
func (c *Change) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(c.At))
	b = le.AppendUint32(b, changeMark)
	b = append(b, byte(c.Verb), byte(c.Key))
	b = le.AppendUint64(b, uint64(c.Value))
	b = le.AppendUint32(b, uint32(c.Port))
	b = le.AppendUint32(b, uint32(c.Flow))
	b = le.AppendUint32(b, uint32(len(c.Flows)))
	for i := range c.Flows {
		b = c.Flows[i].append(b)
	}
	b = le.AppendUint32(b, uint32(len(c.Routes)))
	for _, ports := range c.Routes {
		b = le.AppendUint32(b, uint32(len(ports)))
		for _, p := range ports {
			b = le.AppendUint32(b, uint32(p))
		}
	}
	switch c.Verb {
	case Post:
		b = c.appendPost(b)
	case Choose, Mark:
		b = c.appendChoice(b)
	case Tune:
		if c.Classes != 0 { // without them the bytes are those of earlier journals
			b = append(b, c.Classes)
		}
	default:
	}
	return b
}

// appendChoice writes what a Choose and a Mark have beyond every change.
func (c *Change) appendChoice(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(len(c.Word)))
	b = append(append(b, c.Word...), c.Classes)
	b = le.AppendUint32(b, uint32(len(c.Pairs)))
	for _, p := range c.Pairs {
		b = le.AppendUint32(b, uint32(p.From))
		b = le.AppendUint32(b, uint32(p.To))
	}
	return b
}

// appendPost writes what a Post has beyond every change.
func (c *Change) appendPost(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(len(c.Connections)))
	for _, k := range c.Connections {
		b = le.AppendUint32(b, uint32(k.ID))
		b = le.AppendUint32(b, uint32(k.From))
		b = le.AppendUint32(b, uint32(k.To))
		b = append(b, byte(k.Class), truth(k.Baseline))
		b = le.AppendUint64(b, uint64(k.Payload))
		b = le.AppendUint16(b, k.Source)
	}
	b = le.AppendUint32(b, uint32(len(c.Works)))
	for _, w := range c.Works {
		b = le.AppendUint32(b, uint32(w.Connection))
		b = le.AppendUint32(b, w.ID)
		b = append(b, w.Verb)
		b = le.AppendUint64(b, uint64(w.Size))
		b = le.AppendUint64(b, uint64(w.Every))
		b = le.AppendUint64(b, uint64(w.Count))
	}
	return b
}

func truth(is bool) byte {
	if is {
		return 1
	}
	return 0
}

func (f *Flow) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(f.ID))
	b = le.AppendUint32(b, uint32(f.From))
	b = le.AppendUint32(b, uint32(f.To))
	b = le.AppendUint64(b, uint64(f.Size))
	b = le.AppendUint64(b, uint64(f.Start))
	b = le.AppendUint64(b, uint64(f.Initial))
	b = le.AppendUint16(b, f.Source)
	return append(b, truth(f.Baseline)|(f.DSCP^DataDSCP)<<1) // as before flows had a DSCP where it is the common one
}

package fabric

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Verb is the kind of a Change.
type Verb uint8

// Verbs. A change that does not apply to a machine, or that requests the current
// state, has no effect.
const (
	AddFlows Verb = iota + 1 // add Flows, of which the machine is one end; a switch learns their queue pairs
	StopFlow                 // the sender of Flow stops, retransmissions included
	LinkDown                 // the link at Port goes down and loses the frames in flight
	LinkUp                   // the link at Port comes up again
	Reroute                  // Routes take effect, as they do with LinkDown and LinkUp
	Freeze                   // the NIC neither sends nor receives
	Thaw                     // the NIC resumes operation
	Tune                     // the setting Key becomes Value
	Post                     // add Connections, of which the NIC is one end, and post Works; a switch learns Connections
	Choose                   // the flows of Pairs use the scheme Name
	Mark                     // the Classes use the marking law Name
)

var verbNames = [...]string{
	AddFlows: "add-flows", StopFlow: "stop-flow", LinkDown: "link-down", LinkUp: "link-up",
	Reroute: "reroute", Freeze: "freeze", Thaw: "thaw", Tune: "tune", Post: "post", Choose: "choose", Mark: "mark",
}

// String returns the name of the verb, such as "link-down".
func (v Verb) String() string {
	if int(v) < len(verbNames) && verbNames[v] != "" {
		return verbNames[v]
	}
	return fmt.Sprintf("verb(%d)", uint8(v))
}

// Key is a setting that can change while a machine runs.
type Key uint8

// Keys, with the unit of their value, which is Change.Value or, for a probability,
// Change.Share. The keys of a switch apply to Change.Classes at all of its ports.
const (
	KeyXOFF              Key = iota + 1 // bytes, 0 for the dynamic threshold
	KeyXON                              // bytes
	KeyAlphaShift                       // power of 2; with Change.Named it replaces a static threshold
	KeyQuanta                           // 512 bit times
	KeyKmin                             // bytes
	KeyKmax                             // bytes
	KeyPmax                             // probability
	KeyAckEvery                         // packets
	KeyTimeout                          // ps, 0 for none
	KeyControlRate                      // packets per second, 0 for no limit
	KeyRTTIncrement                     // base increment D of a converter, ps, 0 for the formula
	KeyLoss                             // probability per frame, of the link at Port towards the machine
	KeyCorrupt                          // as KeyLoss
	KeyRouting                          // a balance.Choice
	KeyFlowletGap                       // ps
	KeyAdaptiveLevels                   // number of levels
	KeyAdaptiveStep                     // bytes
	KeyDetection                        // ps
	KeyQueueLimit                       // bytes, 0 for no limit
	KeyQueueLimitLastHop                // bytes, 0 for that of the other ports
)

// DataDSCP is the DSCP of flows whose class sets no other. DSCP 26 for data is the
// common RoCE deployment.
const DataDSCP uint8 = 26

// Flow is one flow: a queue pair that WRITEs one message. Hosts are indices
// among the NICs.
type Flow struct {
	ID       FlowID
	From, To int
	Size     unit.Bytes // -1 sends until the run ends; -2 sends what the program of the host posts
	Start    unit.Time  // unit.Never if a step of the sender's program begins it
	Initial  unit.Rate  // 0 is line rate
	Source   uint16     // UDP source port, the flow's entropy
	DSCP     uint8      // DSCP of its data, 0 to 63; it determines the class
	// Baseline reports that one of the two ends does not support CETH.
	Baseline bool
	// Excess reports that the sender signals excess credit, which it cannot spend, to
	// the receiver under any scheme (CBRC-36, mode B of one receiver).
	Excess   bool
	Recovery Recovery // of both ends
}

// Recovery is the way in which the two ends of a flow recover lost packets.
type Recovery uint8

// Forms of loss recovery. Unless it is GoBackN, each packet is a WRITE of its own.
const (
	GoBackN   Recovery = iota // IBTA volume 1 §9.7
	Selective                 // selective repeat
	Spraying                  // selective repeat for packets that take several paths: a gap is no loss
)

// Connection is a pair of queue pairs for commands: frame.SenderQP(ID) at the
// initiator, frame.ReceiverQP(ID) at the target. Hosts are indices among the NICs.
type Connection struct {
	ID       FlowID
	From, To int // initiator and target
	Class    Priority
	Payload  unit.Bytes // largest payload of a packet, the same at both ends
	Source   uint16     // UDP source port
	Baseline bool       // as in Flow
	// Datagram makes the queue pairs those of unreliable datagrams (UD), which carry sends of
	// at most Payload bytes. Otherwise they are reliably connected (RC).
	Datagram bool
}

// Work is a series of commands that a host posts to its NIC: Count commands, the
// first at the instant of the change, the others at intervals of Every.
type Work struct {
	Connection FlowID
	ID         uint32 // ID of the first command; the others count up
	Verb       uint8  // a verb of package nic/work
	Size       unit.Bytes
	Every      unit.Time
	Count      int
}

// Change is a change made to one machine at a given instant.
type Change struct {
	At     unit.Time
	Value  int64    // for Tune of a key that is a number
	Share  float64  // for Tune of a key that is a probability
	Flows  []Flow   // for AddFlows
	Routes [][]Port // by host; for Reroute, and for LinkDown and LinkUp at a switch
	Port   Port     // for LinkDown and LinkUp, and for Tune of a link's setting
	Flow   FlowID   // for StopFlow
	Verb   Verb
	Key    Key // for Tune
	// Connections and Works are for Post.
	Connections []Connection
	Works       []Work
	Name        string // for Choose and Mark: a name of package cc
	Pairs       []Pair // for Choose: the pairs of which the NIC is one end
	Classes     uint8  // for Mark, and for Tune at a switch: the classes that change, one bit each
	Named       bool   // for Tune: Classes have a value of their own from now on
}

// Number returns the value of a Tune as notes carry it: a probability in parts per
// billion.
func (c *Change) Number() int64 { return c.Value + int64(math.Round(c.Share*1e9)) }

// Pair is the data from one host to another. Hosts are indices among the NICs.
type Pair struct{ From, To int }

// changeMark takes the place that the port has in the canonical bytes of an
// arrival.
const changeMark = uint32(1<<32 - 1)

// Append appends the canonical bytes of the change to b: first its instant, then
// all other fields. The bytes are the same on every machine.
func (c *Change) Append(b []byte) []byte {
	value := uint64(c.Value) | math.Float64bits(c.Share) // one of the two is 0
	b = put(b, c.At, changeMark, c.Verb, c.Key, value, uint32(c.Port), c.Flow)
	b = put(b, uint32(len(c.Flows)))
	for _, f := range c.Flows {
		ends := bit(f.Baseline) | (f.DSCP^DataDSCP)<<1 | bit(f.Recovery != GoBackN)<<7 // DSCP 26 keeps the bytes of the format without a DSCP
		b = put(b, f.ID, uint32(f.From), uint32(f.To), f.Size, f.Start, f.Initial, f.Source, ends)
	}
	b = put(b, uint32(len(c.Routes)))
	for _, ports := range c.Routes {
		b = put(b, uint32(len(ports)))
		for _, p := range ports {
			b = put(b, uint32(p))
		}
	}
	switch c.Verb {
	case Post:
		b = c.appendPost(b)
	case Choose, Mark:
		b = put(b, uint32(len(c.Name)), []byte(c.Name), c.Classes, uint32(len(c.Pairs)))
		for _, p := range c.Pairs {
			b = put(b, uint32(p.From), uint32(p.To))
		}
	case Tune:
		if c.Named { // the others keep the bytes of earlier journals
			b = put(b, c.Classes)
		}
	default:
	}
	return b
}

// appendPost appends the fields that only Post has.
func (c *Change) appendPost(b []byte) []byte {
	b = put(b, uint32(len(c.Connections)))
	for _, k := range c.Connections {
		b = put(b, k.ID, uint32(k.From), uint32(k.To), k.Class, bit(k.Baseline)|bit(k.Datagram)<<1, k.Payload, k.Source)
	}
	b = put(b, uint32(len(c.Works)))
	for _, w := range c.Works {
		b = put(b, w.Connection, w.ID, w.Verb, w.Size, w.Every, int64(w.Count))
	}
	return b
}

// put appends values of fixed size, a bool as one byte.
func put(b []byte, values ...any) []byte {
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v) // fails only for other values
	}
	return b
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// Package work implements the command interface between a host and its NIC: the schedule on
// which the host posts, the circular queues into which it writes commands, the commands that
// wait for a trigger, the flow queues into which the NIC sorts commands, list processing at the
// target, and the segmentation of commands into packets and sub-requests. It knows no wire, no
// token and no response.
//
// Sources: CN 113692725 A / US 12,443,546 B2 (HPE), figures 2B and 3.
package work

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Verb is the operation that a command requests.
type Verb uint8

// Verbs of the initiator.
const (
	Put         Verb = iota // write into the peer's memory
	Get                     // read from the peer's memory: a data request
	Send                    // a message into a buffer that the peer selects
	FetchAdd                // add to a word of the peer's memory, return the old value
	CompareSwap             // swap a word if it holds the expected value, return the old value
)

var verbs = [...]string{Put: "put", Get: "get", Send: "send", FetchAdd: "fetch-add", CompareSwap: "compare-swap"}

// Verbs returns the names of the verbs.
func Verbs() []string { return verbs[:] }

// ParseVerb returns the verb of that name, or false if the name is unknown.
func ParseVerb(name string) (Verb, bool) {
	for v, n := range verbs {
		if n == name {
			return Verb(v), true
		}
	}
	return 0, false
}

// String returns the name of the verb, "get".
func (v Verb) String() string {
	if int(v) < len(verbs) {
		return verbs[v]
	}
	return fmt.Sprintf("verb(%d)", uint8(v))
}

// Known reports whether the verb is one of the constants of this package.
func (v Verb) Known() bool { return int(v) < len(verbs) }

// AsksForData reports whether the command is a data request: a small request
// whose response carries the data.
func (v Verb) AsksForData() bool { return v == Get }

// Atomic reports whether the command changes one word of the peer's memory.
func (v Verb) Atomic() bool { return v == FetchAdd || v == CompareSwap }

// AtomicSize is the size of an atomic command in bytes.
const AtomicSize unit.Bytes = 8

// Command is one command of the initiator.
type Command struct {
	ID      uint32 // identifies the command to the host
	Verb    Verb
	Flow    int32      // the flow that it belongs to
	Size    unit.Bytes // at least 1; AtomicSize for an atomic
	Address uint64     // in the peer's memory
	Operand uint64     // of an atomic: the addend or the new value
	Compare uint64     // of CompareSwap: the expected value of the word
	Rank    int64      // urgency, for arbitration by priority
	Posted  unit.Time  // time at which the host wrote it
	Counter int32      // incremented when the command completes; below 0: no counter
	After   Trigger
	// Tag is delivered to the peer's host with the data, if Tagged: as immediate data, or over UET
	// as header data.
	Tag    uint32
	Tagged bool
}

// Trigger delays a command until a counter reaches a threshold. A Threshold of
// 0 delays nothing.
type Trigger struct {
	Counter   int32
	Threshold uint64
}

// TargetVerb is the operation that a command of the target requests.
type TargetVerb uint8

// Verbs of the target.
const (
	Append TargetVerb = iota // offer a buffer for a future message
	Search                   // search for a message that arrived without a buffer
)

// Target is one command of the target.
type Target struct {
	ID   uint32
	Verb TargetVerb
}

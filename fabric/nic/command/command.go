// Package command is what a host asks of its NIC: the circular queues that it
// writes commands into, the flow queues that the NIC sorts them into, the commands
// that wait for a trigger, and how a command is cut into packets and sub-requests.
// It knows no wire, no token and no answer.
//
// Sources: CN 113692725 A / US 12,443,546 B2 (HPE), figures 2B and 3.
package command

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Verb is what a command asks for.
type Verb uint8

// Verbs of the initiator.
const (
	Put         Verb = iota // write into the peer's memory
	Get                     // read from the peer's memory: a data request
	Send                    // a message for a buffer of the peer's choice
	FetchAdd                // add to a word of the peer's memory, give what it held
	CompareSwap             // exchange a word if it holds what is expected, give what it held
)

var verbs = [...]string{Put: "put", Get: "get", Send: "send", FetchAdd: "fetch-add", CompareSwap: "compare-swap"}

// Verbs lists the names of the verbs.
func Verbs() []string { return verbs[:] }

// ParseVerb gives the verb of that name, false if there is none.
func ParseVerb(name string) (Verb, bool) {
	for v, n := range verbs {
		if n == name {
			return Verb(v), true
		}
	}
	return 0, false
}

// String names the verb, "get".
func (v Verb) String() string {
	if int(v) < len(verbs) {
		return verbs[v]
	}
	return fmt.Sprintf("verb(%d)", uint8(v))
}

// Known tells whether the verb is one of the constants of this package.
func (v Verb) Known() bool { return int(v) < len(verbs) }

// AsksForData tells whether the command is a data request: a small request whose
// response carries the data.
func (v Verb) AsksForData() bool { return v == Get }

// Atomic tells whether the command changes one word of the peer's memory.
func (v Verb) Atomic() bool { return v == FetchAdd || v == CompareSwap }

// AtomicSize is the size of an atomic command in bytes.
const AtomicSize unit.Bytes = 8

// Command is one command of the initiator.
type Command struct {
	ID      uint32 // what the host knows it by
	Verb    Verb
	Flow    int32      // the flow that it belongs to
	Size    unit.Bytes // at least 1; AtomicSize for an atomic
	Address uint64     // in the peer's memory
	Operand uint64     // of an atomic: what is added or swapped in
	Compare uint64     // of CompareSwap: what the word must hold
	Rank    int64      // urgency, for arbitration by priority
	Posted  unit.Time  // when the host wrote it
	Counter int32      // counts the command when it is complete; below 0: none does
	After   Trigger
}

// Trigger holds a command back until a counter has come to a threshold. A
// Threshold of 0 holds nothing back.
type Trigger struct {
	Counter   int32
	Threshold uint64
}

// TargetVerb is what a command of the target asks for.
type TargetVerb uint8

// Verbs of the target.
const (
	Append TargetVerb = iota // offer a buffer for a message that is to come
	Search                   // ask whether a message came that had no buffer
)

// Target is one command of the target.
type Target struct {
	ID   uint32
	Verb TargetVerb
}

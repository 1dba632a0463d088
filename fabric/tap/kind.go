package tap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/frame"
)

// Kinds is a set of kinds of frames; the empty one stands for all.
type Kinds uint8

// Kinds of frames.
const (
	Data    Kinds = 1 << iota // payload: WRITE, SEND, responses of READ, UET requests
	ACK                       // acknowledgements, NAKs among them, with CETH or without
	CNP                       // congestion notification packets
	CNM                       // congestion notification messages of QCN
	PFC                       // PAUSE and RESUME
	Credit                    // credit of UET, and requests for it
	Request                   // READ and atomic requests
	Other                     // what no rule fits
)

var kindNames = []string{"data", "ack", "cnp", "cnm", "pfc", "credit", "request", "other"}

// KindNames lists the names of the kinds, as people write them.
func KindNames() []string { return slices.Clone(kindNames) }

// ParseKinds reads names of kinds. The error names the one that there is not.
func ParseKinds(names []string) (set Kinds, err error) {
	for _, name := range names {
		i := slices.Index(kindNames, name)
		if i < 0 {
			return 0, fmt.Errorf("no kind of frame is called %q: want some of %s", name, strings.Join(kindNames, ", "))
		}
		set |= 1 << i
	}
	return set, nil
}

// Names lists the kinds in the set, none for the empty set.
func (k Kinds) Names() (names []string) {
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Has tells whether a frame is of a kind in the set.
func (k Kinds) Has(f *frame.Frame) bool { return k == 0 || k&KindOf(f) != 0 }

// KindOf gives the one kind of a frame.
func KindOf(f *frame.Frame) Kinds {
	switch f.Class() {
	case frame.ClassPFC:
		return PFC
	case frame.ClassCNM:
		return CNM
	case frame.ClassRoCE:
		return roce(f.Opcode())
	case frame.ClassUET:
		switch f.UETType() {
		case frame.UETRequest:
			return Data
		case frame.UETControl:
			return Credit
		default:
			return ACK
		}
	default:
		return Other
	}
}

func roce(op frame.Opcode) Kinds {
	switch {
	case op == frame.OpcodeCNP:
		return CNP
	case op.IsData():
		return Data
	case op.HasAETH():
		return ACK
	default:
		return Request
	}
}

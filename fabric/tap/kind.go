package tap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/frame"
)

// Kinds is a set of kinds of frames. The empty set selects all frames.
type Kinds uint16

// Kinds of frames.
const (
	Data    Kinds = 1 << iota // payload: WRITE, SEND, responses of READ, UET requests
	ACK                       // acknowledgements, NAKs included, with or without CETH
	CNP                       // congestion notification packets
	CNM                       // congestion notification messages of QCN
	PFC                       // PAUSE and RESUME
	Credit                    // credit of UET, and requests for it
	Request                   // READ and atomic requests
	Other                     // invalid frames
	Trimmed                   // data whose payload a switch cut off
)

var kindNames = []string{"data", "ack", "cnp", "cnm", "pfc", "credit", "request", "other", "trimmed"}

// KindNames returns the names of the kinds, in the form that ParseKinds accepts.
func KindNames() []string { return slices.Clone(kindNames) }

// ParseKinds parses names of kinds. The error names the invalid one.
func ParseKinds(names []string) (set Kinds, err error) {
	for _, name := range names {
		i := slices.Index(kindNames, name)
		if i < 0 {
			return 0, fmt.Errorf("unknown kind of frame %q: must be one of %s", name, strings.Join(kindNames, ", "))
		}
		set |= 1 << i
	}
	return set, nil
}

// Has reports whether the frame is of a kind in the set.
func (k Kinds) Has(f *frame.Frame) bool { return k == 0 || k&kindOf(f) != 0 }

// kinds maps each role to its kind.
var kinds = [...]Kinds{
	frame.RoleNone:          Other,
	frame.RoleData:          Data,
	frame.RoleRequest:       Request,
	frame.RoleResponse:      Data,
	frame.RoleACK:           ACK,
	frame.RoleCETH:          ACK,
	frame.RoleNAK:           ACK,
	frame.RoleCNP:           CNP,
	frame.RoleCNM:           CNM,
	frame.RoleCredit:        Credit,
	frame.RoleCreditRequest: Credit,
	frame.RoleTrimmed:       Trimmed,
}

// kindOf returns the kind of a frame. The response to an atomic has no payload and is
// an ACK.
func kindOf(f *frame.Frame) Kinds {
	role, _ := f.Role()
	switch {
	case role == frame.RoleNone && f.Class() == frame.ClassPFC:
		return PFC
	case role == frame.RoleResponse && f.Opcode() == frame.AtomicAcknowledge:
		return ACK
	}
	return kinds[role]
}

package frame

import "fmt"

// Role is what a frame is in the exchange of a message.
type Role uint8

// Roles.
const (
	RoleNone          Role = iota // of no message
	RoleData                      // carries the initiator's payload
	RoleRequest                   // asks for data, or for an atomic
	RoleResponse                  // answers that
	RoleACK                       // acknowledges
	RoleCETH                      // acknowledges, and tells of congestion in a CETH
	RoleNAK                       // asks for a resend
	RoleCNP                       // tells of congestion
	RoleCNM                       // a switch tells of congestion
	RoleCredit                    // grants credit
	RoleCreditRequest             // asks for credit
)

// roleNames are the words of the field.
var roleNames = [...]string{"none", "data", "request", "response", "ack", "ceth", "nak", "cnp", "cnm", "credit", "credit-request"}

// String names the role, "ack".
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// Main tells whether a message is complete by frames of the role, and not merely
// steered by them.
func (r Role) Main() bool { return r >= RoleData && r <= RoleCETH }

// Role gives what a frame is, and whether it goes back, to the message's
// initiator.
func (f *Frame) Role() (role Role, back bool) {
	switch f.Class() {
	case ClassRoCE:
		_, back, _ = FlowOfQP(f.DestQP())
		return f.roleRoCE(), back
	case ClassUET:
		return f.roleUET()
	case ClassCNM:
		return RoleCNM, true
	default:
		return RoleNone, false
	}
}

func (f *Frame) roleRoCE() Role {
	switch op := f.Opcode(); {
	case op == OpcodeCNP:
		return RoleCNP
	case op == Acknowledge:
		if f.Syndrome() != SyndromeACK {
			return RoleNAK
		}
		if _, told := f.CETH(); told {
			return RoleCETH
		}
		return RoleACK
	case op == ReadRequest || op.HasAtomic():
		return RoleRequest
	case op.HasAETH() || op == ReadResponseMiddle:
		return RoleResponse
	case op.IsData():
		return RoleData
	}
	return RoleNone
}

func (f *Frame) roleUET() (role Role, back bool) {
	switch f.UETType() {
	case UETRequest:
		return RoleData, false
	case UETAck:
		return RoleACK, true
	case UETNack:
		return RoleNAK, true
	case UETControl:
		if f.UETControl() == UETCreditRequest {
			return RoleCreditRequest, false
		}
		return RoleCredit, true
	}
	return RoleNone, false
}

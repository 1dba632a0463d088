package frame

import "fmt"

// Role is a frame's role in the exchange of a message.
type Role uint8

// Roles.
const (
	RoleNone          Role = iota // belongs to no message
	RoleData                      // carries the initiator's payload
	RoleRequest                   // requests data or an atomic operation
	RoleResponse                  // answers a request
	RoleACK                       // acknowledges
	RoleCETH                      // acknowledges, with a congestion notification in a CETH
	RoleNAK                       // requests a retransmission
	RoleCNP                       // congestion notification of a NIC
	RoleCNM                       // congestion notification of a switch
	RoleCredit                    // grants credit
	RoleCreditRequest             // requests credit
	RoleTrimmed                   // was RoleData: a switch cut off the payload
)

// roleNames holds the names of the roles.
var roleNames = [...]string{"none", "data", "request", "response", "ack", "ceth", "nak", "cnp", "cnm", "credit", "credit-request", "trimmed"}

// String returns the name of the role, "ack".
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// Main reports whether frames of the role complete a message, as opposed to
// frames that only control its transmission.
func (r Role) Main() bool { return r >= RoleData && r <= RoleCETH }

// Role returns the frame's role, and whether the frame travels back to the
// message's initiator.
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
		if _, ok := f.CETH(); ok {
			return RoleCETH
		}
		return RoleACK
	case op == ReadRequest || op.HasAtomic():
		return RoleRequest
	case op.HasAETH() || op == ReadResponseMiddle:
		return RoleResponse
	case f.TrimmedWrite():
		return RoleTrimmed
	case op.IsData():
		return RoleData
	}
	return RoleNone
}

func (f *Frame) roleUET() (role Role, back bool) {
	switch f.UETType() {
	case UETRequest, UETUnordered:
		if f.TrimmedRequest() {
			return RoleTrimmed, false
		}
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

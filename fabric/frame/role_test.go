package frame

import "testing"

// Every packet of a response has the role response, including middle packets,
// which have no AETH.
func TestRoleOfResponses(t *testing.T) {
	for op, want := range map[Opcode]Role{
		SendMiddle: RoleData, UDSendOnly: RoleData, WriteOnlyImm: RoleData,
		ReadRequest: RoleRequest, CompareSwap: RoleRequest,
		ReadResponseFirst: RoleResponse, ReadResponseMiddle: RoleResponse, ReadResponseLast: RoleResponse,
		AtomicAcknowledge: RoleResponse, OpcodeCNP: RoleCNP,
	} {
		if got, _ := built(write(op)).Role(); got != want {
			t.Errorf("%v is %v, want %v", op, got, want)
		}
	}
}

// A trimmed WRITE is no data: it completes nothing and is delivered to nobody.
func TestRoleOfTrimmedData(t *testing.T) {
	role, back := trimmedTo(built(trimmable()), 64).Role()
	if role != RoleTrimmed || back || role.Main() || role.String() != "trimmed" {
		t.Errorf("role %v, back %v, main %v", role, back, role.Main())
	}
}

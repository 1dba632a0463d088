package qp

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/frame"
)

// Each request needs one flag. Other packets, and SENDs with immediate data, are not executed.
func TestNeedsByOpcode(t *testing.T) {
	want := map[frame.Opcode]access{
		frame.SendFirst: sends, frame.SendMiddle: sends, frame.SendLast: sends, frame.SendOnly: sends,
		frame.WriteFirst: remoteWrite, frame.WriteMiddle: remoteWrite, frame.WriteLast: remoteWrite, frame.WriteOnly: remoteWrite,
		frame.ReadRequest: remoteRead, frame.CompareSwap: remoteAtomic, frame.FetchAdd: remoteAtomic,
		frame.UDSendOnly: datagrams, frame.WriteLastImm: immediates, frame.WriteOnlyImm: immediates,
	}
	for i := range 256 {
		op := frame.Opcode(i)
		flag := want[op]
		if needs[op] != flag {
			t.Errorf("%v needs %b, want %b", op, needs[op], flag)
		}
	}
}

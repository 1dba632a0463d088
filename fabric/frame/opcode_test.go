package frame

import "testing"

// The headers that follow the BTH, by opcode (IBTA volume 1 chapter 9).
func TestOpcodes(t *testing.T) {
	for _, c := range []struct {
		op               Opcode
		code             uint8
		ext              uint8
		data, reth, aeth bool
	}{
		{SendFirst, 0x00, 0, true, false, false},
		{SendMiddle, 0x01, 0, true, false, false},
		{SendLast, 0x02, 0, true, false, false},
		{SendLastImm, 0x03, 4, true, false, false},
		{SendOnly, 0x04, 0, true, false, false},
		{SendOnlyImm, 0x05, 4, true, false, false},
		{WriteFirst, 0x06, 16, true, true, false},
		{WriteMiddle, 0x07, 0, true, false, false},
		{WriteLast, 0x08, 0, true, false, false},
		{WriteLastImm, 0x09, 4, true, false, false},
		{WriteOnly, 0x0a, 16, true, true, false},
		{WriteOnlyImm, 0x0b, 20, true, true, false},
		{ReadRequest, 0x0c, 16, false, true, false},
		{ReadResponseFirst, 0x0d, 4, true, false, true},
		{ReadResponseMiddle, 0x0e, 0, true, false, false},
		{ReadResponseLast, 0x0f, 4, true, false, true},
		{ReadResponseOnly, 0x10, 4, true, false, true},
		{Acknowledge, 0x11, 4, false, false, true},
		{AtomicAcknowledge, 0x12, 12, false, false, true},
		{CompareSwap, 0x13, 28, false, false, false},
		{FetchAdd, 0x14, 28, false, false, false},
		{UDSendOnly, 0x64, 8, true, false, false},
		{UDSendOnlyImm, 0x65, 12, true, false, false},
		{OpcodeCNP, 0x81, 16, false, false, false},
		{RTTProbe, 0xc0, 0, false, false, false},
		{RTTResponse, 0xc1, 0, false, false, false},
	} {
		if uint8(c.op) != c.code || !c.op.Known() || opcodeEnd[c.op] != 54+c.ext {
			t.Errorf("%v: code %#x, known %v, end %d", c.op, uint8(c.op), c.op.Known(), opcodeEnd[c.op])
		}
		if c.op.IsData() != c.data || c.op.HasRETH() != c.reth || c.op.HasAETH() != c.aeth {
			t.Errorf("%v: data %v, RETH %v, AETH %v", c.op, c.op.IsData(), c.op.HasRETH(), c.op.HasAETH())
		}
	}
	if n := len(knownOpcodes()); n != 26 {
		t.Errorf("%d opcodes are known, want 26", n)
	}
}

func TestOpcodeString(t *testing.T) {
	if s := WriteFirst.String(); s != "write-first" {
		t.Error(s)
	}
	if s := Opcode(0x24).String(); s != "opcode(0x24)" {
		t.Error(s)
	}
}

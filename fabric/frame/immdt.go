package frame

import "encoding/binary"

// ImmLen is the length of immediate data in bytes, IBTA volume 1
// chapter 9. It is the last extension header.
const ImmLen = 4

func (p *Packet) buildImm(f *Frame) {
	binary.BigEndian.PutUint32(f.head[opcodeEnd[p.BTH.Opcode]-ImmLen:], p.Imm)
}

// Immediate returns the immediate data of a RoCEv2 packet, or false if its opcode has none.
func (f *Frame) Immediate() (uint32, bool) {
	if opcodeTraits[f.Opcode()]&hasImm == 0 {
		return 0, false
	}
	return binary.BigEndian.Uint32(f.head[opcodeEnd[f.Opcode()]-ImmLen:]), true
}

func (p *Packet) parseImm(f *Frame) {
	p.Imm = binary.BigEndian.Uint32(f.head[opcodeEnd[p.BTH.Opcode]-ImmLen:])
}

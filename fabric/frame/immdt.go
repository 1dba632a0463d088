package frame

import "encoding/binary"

// immLen is the length of immediate data in bytes, IBTA volume 1
// chapter 9. It is the last extension header.
const immLen = 4

func (p *Packet) buildImm(f *Frame) {
	binary.BigEndian.PutUint32(f.head[opcodeEnd[p.BTH.Opcode]-immLen:], p.Imm)
}

func (p *Packet) parseImm(f *Frame) {
	p.Imm = binary.BigEndian.Uint32(f.head[opcodeEnd[p.BTH.Opcode]-immLen:])
}

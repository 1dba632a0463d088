package frame

import "encoding/binary"

// Congestion notification packet, IBTA A17.9.3: 16 reserved bytes after the BTH.
// PCN §5.2 puts the 32-bit receiving rate there. This project puts it into the
// first four bytes and sets the rest to 0.
const (
	cnpRecRate  = bthEnd
	cnpReserved = bthEnd + 4
	cnpLen      = 16
)

// RecRate returns the receiving rate of a CNP in Mbit/s (PCN §5.2), or 0 if the
// notification point does not report it.
func (f *Frame) RecRate() uint32 { return binary.BigEndian.Uint32(f.head[f.at(cnpRecRate):]) }

func (p *Packet) buildCNP(f *Frame) {
	binary.BigEndian.PutUint32(f.head[cnpRecRate:], p.RecRate)
	clear(f.head[cnpReserved : bthEnd+cnpLen])
}

func (p *Packet) parseCNP(f *Frame) error {
	if !f.BECN() {
		return errBECN
	}
	if [cnpLen - 4]byte(f.head[cnpReserved:bthEnd+cnpLen]) != ([cnpLen - 4]byte{}) {
		return errReserved
	}
	p.RecRate = f.RecRate()
	return nil
}

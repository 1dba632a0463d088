package frame

import "encoding/binary"

// Congestion notification packet, IBTA A17.9.3: 16 reserved bytes after the BTH.
// PCN §5.2 puts the 32-bit receiving rate there; it is taken to be the first
// four bytes, the rest 0.
const (
	cnpRecRate  = bthEnd
	cnpReserved = bthEnd + 4
	cnpLen      = 16
)

// RecRate gives the receiving rate of a CNP in Mbit/s (PCN §5.2), 0 if the
// notification point does not tell it.
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

package frame

import "encoding/binary"

// Datagram extended transport header, IBTA volume 1 §9.3.2. It follows the BTH of
// an unreliable datagram.
const (
	dethQKey     = bthEnd
	dethReserved = bthEnd + 4
	dethSourceQP = bthEnd + 5
	dethLen      = 8
)

// DETH authorises a datagram, and names the queue pair that sent it.
type DETH struct {
	QKey     uint32 // must equal that of the destination queue pair
	SourceQP uint32 // 24 bits
}

// DETH returns the datagram header, for an opcode with HasDETH.
func (f *Frame) DETH() DETH {
	return DETH{
		QKey:     binary.BigEndian.Uint32(f.head[f.at(dethQKey):]),
		SourceQP: uint24(f.head[f.at(dethSourceQP):]),
	}
}

func (d *DETH) build(f *Frame) {
	binary.BigEndian.PutUint32(f.head[dethQKey:], d.QKey)
	f.head[dethReserved] = 0
	putUint24(f.head[dethSourceQP:], d.SourceQP)
}

func (d *DETH) parse(f *Frame) error {
	if f.head[dethReserved] != 0 {
		return errReserved
	}
	*d = f.DETH()
	return nil
}

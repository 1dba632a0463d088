package frame

import "encoding/binary"

// Priority flow control, IEEE 802.1Q clause 36 and 802.3 annex 31D.
const (
	pfcOp     = ethEnd
	pfcEnable = ethEnd + 2 // upper byte 0; bit n of the lower byte: quanta n is valid
	pfcQuanta = ethEnd + 4
	pfcEnd    = pfcQuanta + 8*2
	pfcOpcode = 0x0101
	pfcBuilt  = minCapture // with padding
)

// pfcAddr is the group address of MAC control, which bridges do not forward.
var pfcAddr = Addr{0x01, 0x80, 0xc2, 0, 0, 1}

var (
	errNotPFC     = malformed("not a PFC frame")
	errPFCLength  = malformed("PFC frame length is not 60 bytes and FCS")
	errPFCPadding = malformed("PFC padding is not zero")
)

// PFC is a priority flow control frame.
type PFC struct {
	Source Addr
	Enable uint8     // bit n: Quanta[n] is valid
	Quanta [8]uint16 // pause per priority in 512 bit times; 0 resumes
}

// Build writes the frame into f, with 60 header bytes and no payload. It does
// not change Arrival and Trace.
func (p *PFC) Build(f *Frame) {
	clear(f.head[:])
	f.n, f.shift, f.Payload = pfcBuilt, 0, 0
	*(*Addr)(f.head[ethDst:]) = pfcAddr
	*(*Addr)(f.head[ethSrc:]) = p.Source
	binary.BigEndian.PutUint16(f.head[ethType:], typePause)
	binary.BigEndian.PutUint16(f.head[pfcOp:], pfcOpcode)
	binary.BigEndian.PutUint16(f.head[pfcEnable:], uint16(p.Enable))
	for i, q := range p.Quanta {
		binary.BigEndian.PutUint16(f.head[pfcQuanta+2*i:], q)
	}
}

// Parse parses f into p. It rejects frames that Build would not write, with an
// error that wraps ErrMalformed, and leaves p unchanged then.
func (p *PFC) Parse(f *Frame) error {
	if f.Class() != ClassPFC {
		return errNotPFC
	}
	if f.n != pfcBuilt || f.Payload != 0 {
		return errPFCLength
	}
	if f.head[pfcEnable] != 0 ||
		[pfcBuilt - pfcEnd]byte(f.head[pfcEnd:pfcBuilt]) != ([pfcBuilt - pfcEnd]byte{}) {
		return errPFCPadding
	}
	p.Source, p.Enable = f.SrcMAC(), f.head[pfcEnable+1]
	for i := range p.Quanta {
		p.Quanta[i] = binary.BigEndian.Uint16(f.head[pfcQuanta+2*i:])
	}
	return nil
}

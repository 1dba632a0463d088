package frame

// Congestion extended transport header (CETH): congestion information in an
// acknowledgement. It follows the AETH of an ACK, the reserved bytes of a CNP or
// the RETH of a READ request.
//
//	byte 0      version 4 bits, length 4 bits        the standard part
//	bytes 1...  4*length - 1 bytes                   the vendor part
//
// Source: the Huawei document on RoCE congestion control, ¶141 to ¶145 and
// figures 8 and 9. Details that it leaves open are this project's choice.
const (
	cethWord     = 4
	cethMaxWords = 4 // ¶145: 1 to 4 words
	// CETHMaxLen is the maximum length of a CETH in bytes.
	CETHMaxLen = cethMaxWords * cethWord
)

// Versions of the CETH (¶144). Versions 1 to 15 are the vendor's; this package
// supports the first of them.
const (
	CETHPlain   = 0 // a standard CNP, no other information
	CETHVersion = 1 // the vendor part is a Congestion
)

// CETH is the header with an uninterpreted vendor part, so that a header of an
// unknown version can be skipped and forwarded.
type CETH struct {
	Version uint8 // 0 to 15
	Words   uint8 // length in words of 4 bytes, 1 to 4; 0: no header
	// Vendor holds 4*Words - 1 bytes; the remaining bytes are 0.
	Vendor [CETHMaxLen - 1]byte
}

// len returns the length in bytes. More than 4 words count as 4.
func (c *CETH) len() int { return int(min(c.Words, cethMaxWords)) * cethWord }

// put writes the header to b, which must be long enough.
func (c *CETH) put(b []byte) {
	if n := c.len(); n > 0 {
		b[0] = c.Version<<4 | uint8(n/cethWord)
		copy(b[1:n], c.Vendor[:])
	}
}

// parseCETH parses the header at the start of b. It returns false if b does not
// hold a complete header.
func parseCETH(b []byte) (c CETH, ok bool) {
	if len(b) == 0 {
		return c, false
	}
	words := b[0] & 0x0f
	if words == 0 || words > cethMaxWords || len(b) < int(words)*cethWord {
		return c, false
	}
	c.Version, c.Words = b[0]>>4, words
	copy(c.Vendor[:], b[1:c.len()])
	return c, true
}

// carriesCETH reports whether a packet of the opcode may have a CETH. That is
// an acknowledgement or, for responses, which are not acknowledged, a READ
// request or a CNP.
func (o Opcode) carriesCETH() bool { return o == Acknowledge || o == ReadRequest || o == OpcodeCNP }

// beyond returns the header bytes between the opcode's last extension header
// and the timestamps, if any: a CETH and the headers after it.
func (f *Frame) beyond() []byte {
	at, end := f.at(int(opcodeEnd[f.Opcode()])), int(f.n)
	if f.Timestamped() {
		end -= stampLen
	}
	if end <= at {
		return nil
	}
	return f.head[at:end]
}

// CETH returns the congestion header of a frame of ClassRoCE, or false if it
// has no complete one. Headers after it are ignored, and its version may be
// unknown.
func (f *Frame) CETH() (CETH, bool) {
	if !f.Opcode().carriesCETH() || !f.BECN() {
		return CETH{}, false
	}
	return parseCETH(f.beyond())
}

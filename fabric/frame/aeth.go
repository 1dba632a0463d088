package frame

// Acknowledgement extended transport header, IBTA volume 1 chapter 9:
// syndrome 1 byte, message sequence number 3. It follows the BTH.
const (
	aethSyndrome = bthEnd
	aethMSN      = bthEnd + 1
	aethLen      = 4
)

// Syndromes, IBTA volume 1 §9.7.5.2: the kind in the upper three bits.
const (
	SyndromeACK         = 0x1f // ACK, unlimited credits
	SyndromeNAKSequence = 0x60 // NAK, PSN sequence error
	SyndromeNAKInvalid  = 0x61 // NAK, invalid request
	SyndromeNAKAccess   = 0x62 // NAK, remote access error
	// NAKs of codes that IBTA reserves, this project's: the packet that the receipt names arrived
	// trimmed, by a switch before the last hop or by the last one. The PSN is that of the expected
	// packet, which may be another one.
	SyndromeNAKTrimmed        = 0x70
	SyndromeNAKTrimmedLastHop = 0x71
)

// AETH is a responder's acknowledgement of a request.
type AETH struct {
	Syndrome uint8
	MSN      uint32 // number of completed messages, 24 bits
}

// Syndrome returns the syndrome, for an opcode with HasAETH.
func (f *Frame) Syndrome() uint8 { return f.head[f.at(aethSyndrome)] }

// MSN returns the message sequence number, 24 bits, for an opcode with HasAETH.
func (f *Frame) MSN() uint32 { return uint24(f.head[f.at(aethMSN):]) }

func (a *AETH) build(f *Frame) {
	f.head[aethSyndrome] = a.Syndrome
	putUint24(f.head[aethMSN:], a.MSN)
}

func (a *AETH) parse(f *Frame) { *a = AETH{Syndrome: f.Syndrome(), MSN: f.MSN()} }

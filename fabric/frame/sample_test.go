package frame

import (
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

// write returns a packet with every field set.
func write(op Opcode) Packet {
	return Packet{
		SrcMAC: HostMAC(1), DstMAC: HostMAC(2), Src: HostIP(1), Dst: HostIP(2),
		DSCP: 26, ECN: ECT0, TTL: DefaultTTL, SrcPort: 0xc001,
		BTH: BTH{
			Opcode: op, PKey: DefaultPKey, DestQP: ReceiverQP(7), AckReq: true, PSN: 0x123456,
			BECN: op == OpcodeCNP,
		},
		Payload: payloadOf(op),
	}
}

// stamped returns the same packet with a timestamp header.
func stamped(p Packet) Packet {
	p.Timestamped, p.Timestamps = true, Timestamps{0x01020304, 0x05060708}
	return p
}

func payloadOf(op Opcode) uint32 {
	if op.IsData() {
		return 1000
	}
	return 0
}

func built(p Packet) *Frame {
	f := new(Frame)
	p.Build(f)
	return f
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// knownOpcodes returns the known opcodes in ascending order.
func knownOpcodes() []Opcode {
	var ops []Opcode
	for i := range 256 {
		if Opcode(i).Known() {
			ops = append(ops, Opcode(i))
		}
	}
	return ops
}

func drawAddr(t *rapid.T, label string) Addr {
	return Addr(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, label))
}

func uintBelow(t *rapid.T, limit uint32, label string) uint32 {
	return rapid.Uint32Range(0, limit-1).Draw(t, label)
}

// drawPacket draws any packet that Build writes completely: fields that the
// opcode omits are zero.
func drawPacket(t *rapid.T) Packet {
	op := rapid.SampledFrom(knownOpcodes()).Draw(t, "opcode")
	p := Packet{
		SrcMAC: drawAddr(t, "smac"), DstMAC: drawAddr(t, "dmac"),
		Src: IP(rapid.Uint32().Draw(t, "src")), Dst: IP(rapid.Uint32().Draw(t, "dst")),
		DSCP: uint8(uintBelow(t, 64, "dscp")), ECN: ECN(uintBelow(t, 4, "ecn")),
		TTL: rapid.Uint8().Draw(t, "ttl"), ID: rapid.Uint16().Draw(t, "id"),
		SrcPort: rapid.Uint16().Draw(t, "port"), BTH: drawBTH(t, op),
	}
	p.Mirrored = p.SrcPort != PortRoCE && rapid.Bool().Draw(t, "mirrored")
	p.Payload = uint32(p.BTH.Pad) + uintBelow(t, MaxPayload-3, "payload")
	drawExtensions(t, &p)
	return p
}

func drawBTH(t *rapid.T, op Opcode) BTH {
	return BTH{
		Opcode: op, Solicited: rapid.Bool().Draw(t, "se"), MigReq: rapid.Bool().Draw(t, "m"),
		Pad: uint8(uintBelow(t, 4, "pad")), PKey: rapid.Uint16().Draw(t, "pkey"),
		FECN: rapid.Bool().Draw(t, "fecn"), BECN: rapid.Bool().Draw(t, "becn") || op == OpcodeCNP,
		Resv6: uint8(uintBelow(t, 64, "resv6")), DestQP: uintBelow(t, 1<<24, "qp"),
		AckReq: rapid.Bool().Draw(t, "ackreq"), Resv7: uint8(uintBelow(t, 128, "resv7")),
		PSN: uintBelow(t, 1<<24, "psn"),
	}
}

func drawExtensions(t *rapid.T, p *Packet) {
	op := p.BTH.Opcode
	if op.HasRETH() {
		p.RETH = RETH{rapid.Uint64().Draw(t, "va"), rapid.Uint32().Draw(t, "rkey"), rapid.Uint32().Draw(t, "dma")}
	}
	if op.HasAETH() {
		p.AETH = AETH{rapid.Uint8().Draw(t, "syndrome"), uintBelow(t, 1<<24, "msn")}
	}
	if op.HasDETH() {
		p.DETH = DETH{rapid.Uint32().Draw(t, "qkey"), uintBelow(t, 1<<24, "source qp")}
	}
	if op.HasImm() {
		p.Imm = rapid.Uint32().Draw(t, "imm")
	}
	if op.HasAtomic() {
		p.Atomic = AtomicETH{
			rapid.Uint64().Draw(t, "va"), rapid.Uint32().Draw(t, "rkey"),
			rapid.Uint64().Draw(t, "swap"), rapid.Uint64().Draw(t, "compare"),
		}
	}
	if op == AtomicAcknowledge {
		p.Original = rapid.Uint64().Draw(t, "original")
	}
	if op == OpcodeCNP {
		p.RecRate = rapid.Uint32().Draw(t, "recrate")
	}
	if op == Acknowledge || op == OpcodeCNP || op == ReadRequest {
		drawCETH(t, p)
	}
	if op == Acknowledge {
		drawReceipt(t, p)
	}
	if p.Timestamped = rapid.Bool().Draw(t, "timestamped"); p.Timestamped {
		p.Timestamps = Timestamps{Stamp(rapid.Uint32().Draw(t, "ts")), Stamp(rapid.Uint32().Draw(t, "tr"))}
	}
}

// drawCETH draws no CETH, or one of any version and length, with or without a
// SACK after it.
func drawCETH(t *rapid.T, p *Packet) {
	words := rapid.Uint8Range(0, 4).Draw(t, "words")
	if words == 0 {
		return
	}
	p.BTH.BECN = true
	p.CETH = CETH{Version: rapid.Uint8Range(0, 15).Draw(t, "version"), Words: words}
	copy(p.CETH.Vendor[:], rapid.SliceOfN(rapid.Byte(), int(words)*4-1, int(words)*4-1).Draw(t, "vendor"))
	drawSACK(t, p)
}

// drawSACK draws a SACK or none.
func drawSACK(t *rapid.T, p *Packet) {
	if rapid.Bool().Draw(t, "SACK") {
		p.SACK = SACK{uintBelow(t, 1<<24, "base"), rapid.Uint64Min(1).Draw(t, "bitmap")}
	}
}

// drawReceipt draws a receipt, before which BECN announces a CETH, or none.
func drawReceipt(t *rapid.T, p *Packet) {
	if p.Receipted = rapid.Bool().Draw(t, "receipted"); !p.Receipted {
		return
	}
	p.BTH.BECN = p.CETH.Words > 0
	p.Receipt = Receipt{
		PSN: uintBelow(t, 1<<24, "answered"), SrcPort: rapid.Uint16().Draw(t, "entropy"),
		Marked: rapid.Bool().Draw(t, "marked"), Resent: rapid.Bool().Draw(t, "resent"),
		Penalty: uint8(uintBelow(t, 128, "penalty")), Restore: rapid.Bool().Draw(t, "restore"),
		Received: uintBelow(t, 1<<24, "received"), OutOfOrder: rapid.Uint16().Draw(t, "out of order"), Service: rapid.Uint16().Draw(t, "service"),
	}
}

// receipted returns the packet with a receipt.
func receipted(p Packet) Packet {
	p.Receipted = true
	p.Receipt = Receipt{
		PSN: 0x123458, SrcPort: 0xc002, Marked: true, Resent: true, Penalty: 0x41, Restore: true,
		Received: 0x010203, OutOfOrder: 0x0405, Service: 0x0607,
	}
	return p
}

// selective returns the packet with a SACK.
func selective(p Packet) Packet {
	p.SACK = SACK{0x123457, 1<<63 | 1}
	return p
}

// aggregated returns an ACK that indicates congestion, with a CETH of the given
// number of words.
func aggregated(words uint8) Packet {
	p := write(Acknowledge)
	p.AETH = AETH{SyndromeACK, 1}
	p.BTH.BECN = true
	if words == 0 {
		return p
	}
	p.CETH = (&Congestion{
		Ratio: RatioMedium, Enhanced: true, Service: ServiceWrite, Switch: 1, Port: 2, Depth: 0x01020304, Delay: 0x05060708,
	}).CETH(words)
	return p
}

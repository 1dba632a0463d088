package frame

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

func TestClassOfBuilt(t *testing.T) {
	for _, op := range knownOpcodes() {
		f := built(write(op))
		if f.Class() != ClassRoCE {
			t.Errorf("%v is %v", op, f.Class())
		}
		f.n--
		f.Payload++
		if f.Class() != ClassMalformed {
			t.Errorf("%v without the last header byte is %v", op, f.Class())
		}
	}
}

func TestClassMalformed(t *testing.T) {
	for name, spoil := range map[string]func(f *Frame){
		"EtherType":        func(f *Frame) { f.head[12] = 0x86 },
		"version 6":        func(f *Frame) { f.head[14] = 0x65 },
		"IP options":       func(f *Frame) { f.head[14] = 0x46 },
		"TCP":              func(f *Frame) { f.head[23] = 6 },
		"port":             func(f *Frame) { f.head[37]++ },
		"more fragments":   func(f *Frame) { f.head[20] = 0x20 },
		"later fragment":   func(f *Frame) { f.head[21] = 1 },
		"IP length":        func(f *Frame) { f.head[17]++ },
		"UDP length":       func(f *Frame) { f.head[39]++ },
		"payload":          func(f *Frame) { f.Payload += 1 << 16 },
		"atomic, cut":      func(f *Frame) { f.head[42] = 0x13 },
		"other transport":  func(f *Frame) { f.head[42] = 0x24 },
		"nothing":          func(f *Frame) { f.SetHeader(nil) },
		"Ethernet only":    func(f *Frame) { f.SetHeader(f.Header()[:14]) },
		"no RETH":          func(f *Frame) { f.SetHeader(f.Header()[:54]); f.Payload += 16 },
		"end within BTH":   func(f *Frame) { f.SetHeader(f.Header()[:53]); f.Payload += 17 },
		"payload below 0":  func(f *Frame) { f.Payload = 1<<32 - 16; putLengths(f, 40) },
		"length too small": func(f *Frame) { putLengths(f, 19) },
	} {
		t.Run(name, func(t *testing.T) {
			f := built(write(WriteOnly))
			spoil(f)
			if f.Class() != ClassMalformed {
				t.Errorf("%v: % x", f.Class(), f.Header())
			}
		})
	}
}

func putLengths(f *Frame, ip uint16) {
	binary.BigEndian.PutUint16(f.head[ipLength:], ip)
	binary.BigEndian.PutUint16(f.head[udpLength:], ip-20)
}

// slowClass reads one header after the other and stops at the first invalid
// one.
func slowClass(h []byte, payload uint32) Class {
	if len(h) < 14 {
		return ClassMalformed
	}
	rest := h[14:]
	switch binary.BigEndian.Uint16(h[12:]) {
	case 0x8808:
		toAll := bytes.Equal(h[:6], []byte{0x01, 0x80, 0xc2, 0, 0, 1})
		if toAll && len(rest) >= 20 && rest[0] == 1 && rest[1] == 1 {
			return ClassPFC
		}
	case 0x22e7:
		if len(rest) >= 24 && len(rest) <= 24+64 && payload == 0 && int(rest[22])<<8+int(rest[23]) == len(rest)-24 {
			return ClassCNM
		}
	case 0x88b5:
		near := bytes.Equal(h[:6], []byte{0x01, 0x80, 0xc2, 0, 0, 0x0e})
		if near && len(h) == 60 && payload == 0 && rest[0] >= 1 && rest[0] <= 4 {
			return ClassRetry
		}
	case 0x0800:
		if len(rest) >= 20 && slowIPv4(rest[:20], len(rest)+int(payload)+4) && slowUDP(slowStrip(rest[20:]), payload) {
			return ClassRoCE
		}
		if len(rest) >= 20 && slowIPv4(rest[:20], len(rest)+int(payload)) && slowUET(rest[20:], payload) {
			return ClassUET
		}
	}
	return ClassMalformed
}

// slowStrip removes telemetry hop by hop, if it follows UDP.
func slowStrip(b []byte) []byte {
	if len(b) < 8+4+8+12 || binary.BigEndian.Uint16(b) == 4791 || binary.BigEndian.Uint16(b[10:]) != 4791 {
		return b
	}
	telemetry := 4
	switch {
	case b[2] == 0xfd && b[3] == 0xe9 && b[8] == 0x14 && b[12]>>4 == 2 && b[14]%32 == 5 && b[16] == 0xd8 && b[17] == 0:
		telemetry += 12
	case b[2] == 0xfd && b[3] == 0xea && b[8] == 1 && b[14]/8 == 5 && b[16] == 0xf2 && b[17] == 0 && b[18] == 0:
		telemetry += 8
	default:
		return b
	}
	for hops := 0; telemetry < 4+4*int(b[9]) && hops < 5; hops++ {
		telemetry += 20
	}
	if telemetry != 4+4*int(b[9]) || len(b) < 8+telemetry+12 {
		return b
	}
	rest := append(bytes.Clone(b[:8]), b[8+telemetry:]...)
	binary.BigEndian.PutUint16(rest[2:], 4791)
	binary.BigEndian.PutUint16(rest[4:], binary.BigEndian.Uint16(b[4:])-uint16(telemetry))
	return rest
}

func slowUET(b []byte, payload uint32) bool {
	if len(b) < 8+12 || binary.BigEndian.Uint16(b[2:]) != 4793 {
		return false
	}
	want := map[byte]int{13: 12 + 4 + 44, 14: 12 + 4 + 44, 8: 12 + 20, 10: 12 + 4, 11: 12 + 4}[b[8]>>3]
	return len(b) == 8+want && int(binary.BigEndian.Uint16(b[4:])) == len(b)+int(payload)
}

func slowIPv4(ip []byte, length int) bool {
	unfragmented := ip[6]&0x20 == 0 && ip[6]&0x1f == 0 && ip[7] == 0
	return ip[0]>>4 == 4 && ip[0]&15 == 5 && ip[9] == 17 && unfragmented &&
		int(ip[2])<<8+int(ip[3]) == length
}

func slowUDP(b []byte, payload uint32) bool {
	if len(b) < 8+12 || binary.BigEndian.Uint16(b) != 4791 && binary.BigEndian.Uint16(b[2:]) != 4791 {
		return false
	}
	if int(binary.BigEndian.Uint16(b[4:])) != len(b)+int(payload)+4 {
		return false
	}
	op, ext := Opcode(b[8]), len(b)-20
	if b[9]%16 == 1 {
		ext -= 8
		if ext < 0 {
			return false
		}
	}
	switch op {
	case 0, 1, 2, 4, 7, 8, 14, 0xc0, 0xc1:
		return true
	case 3, 5, 9, 13, 15, 16, 17:
		return ext >= 4
	case 0x64:
		return ext >= 8
	case 0x65:
		return ext >= 12
	case 6, 10, 12, 0x81:
		return ext >= 16
	case 11:
		return ext >= 20
	case 18:
		return ext >= 12
	case 19, 20:
		return ext >= 28
	}
	return false
}

// Class agrees with its slow twin on frames with changed or missing bytes, and
// on any bytes.
func TestClassTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawSpoilt(t)
		if got, want := f.Class(), slowClass(f.Header(), f.Payload); got != want {
			t.Fatalf("%v, want %v: % x", got, want, f.Header())
		}
	})
}

func drawSpoilt(t *rapid.T) *Frame {
	f := new(Frame)
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		f = built(drawPacket(t))
	case 4:
		f = drawCarried(t)
	case 3:
		u := drawUET(t)
		u.Build(f)
	case 1:
		(&PFC{Enable: 1}).Build(f)
	case 2:
		f.SetHeader(rapid.SliceOfN(rapid.Byte(), 0, HeaderRoom).Draw(t, "header"))
		f.Payload = rapid.Uint32().Draw(t, "payload")
		return f
	}
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		f.head[rapid.IntRange(0, 60).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	f.SetHeader(bytes.Clone(f.Header()))
	if rapid.Bool().Draw(t, "cut") {
		n := rapid.IntRange(0, len(f.Header())).Draw(t, "to")
		f.Payload += uint32(len(f.Header()) - n)
		f.SetHeader(f.Header()[:n])
	}
	return f
}

func TestClassString(t *testing.T) {
	for c, want := range map[Class]string{ClassRoCE: "roce", ClassPFC: "pfc", ClassUET: "uet", ClassMalformed: "malformed", 9: "malformed"} {
		if c.String() != want {
			t.Errorf("Class(%d) = %q", c, c.String())
		}
	}
}

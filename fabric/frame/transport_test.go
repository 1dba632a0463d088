package frame

import (
	"fmt"
	"testing"
)

// FromTransport reads what Build writes, from the bytes after the UDP header, whole or cut after the headers.
func TestFromTransport(t *testing.T) {
	for i := range 256 {
		op := Opcode(i)
		p := Packet{
			BTH:  BTH{Opcode: op, DestQP: 0x123456, PSN: 0xfffffe, AckReq: true},
			RETH: RETH{VA: 7, Length: 3000}, AETH: AETH{Syndrome: SyndromeNAKSequence, MSN: 5}, DETH: DETH{SourceQP: 77},
		}
		if op.IsData() {
			p.Payload, p.BTH.Pad = 100, 1
		}
		for _, p.Timestamped = range []bool{false, true} {
			var built Frame
			p.Build(&built)
			wire := built.Materialise(nil)[udpEnd:]
			length := int(built.n) - udpEnd + int(p.Payload) + ICRCLen
			headers := int(built.n) - udpEnd
			for _, n := range []int{headers, len(wire)} {
				f, ok := FromTransport(wire[:n], length)
				if !op.Known() {
					if ok {
						t.Errorf("%s is read", op)
					}
					continue
				}
				clear(built.head[:udpEnd])
				if !ok || fmt.Sprint(f) != fmt.Sprint(built) {
					t.Errorf("%s of %d bytes: %v\n%v, want\n%v", op, n, ok, f, built)
				}
			}
			if _, ok := FromTransport(wire[:headers-1], length); ok {
				t.Errorf("%s is read with its headers cut", op)
			}
			if _, ok := FromTransport(wire, headers+ICRCLen-1+int(p.BTH.Pad)); ok {
				t.Errorf("%s is read with a length below its headers and pad", op)
			}
		}
	}
	if _, ok := FromTransport(nil, 100); ok {
		t.Error("no bytes are read")
	}
}

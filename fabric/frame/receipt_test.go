package frame

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The receipt is the last header before the timestamps: after the AETH, or the SACK after it. The bytes are
// written by hand from the layout.
func TestReceiptFollowsSACK(t *testing.T) {
	const want = "7c" + "123458" + "41" + "010203" + "c002" + "0405" + "0607" + "0000"
	for _, c := range []struct {
		packet Packet
		at     int
	}{
		{write(Acknowledge), 58},
		{selective(write(Acknowledge)), 70},
		{stamped(selective(write(Acknowledge))), 70},
	} {
		p := receipted(c.packet)
		f := built(p)
		if diff := cmp.Diff(unhex(t, want), f.Header()[c.at:c.at+receiptLen]); diff != "" {
			t.Error(diff)
		}
		if got, ok := f.Receipt(); !ok || got != p.Receipt || f.SACK() != p.SACK {
			t.Errorf("%+v, %v and SACK %+v", got, ok, f.SACK())
		}
	}
	if f := built(receipted(write(WriteOnly))); int(f.n) != f.extensionsEnd() {
		t.Error("a data packet was given a receipt")
	}
	if _, ok := built(selective(write(Acknowledge))).Receipt(); ok {
		t.Error("a SACK is read as a receipt")
	}
}

// Whatever CETH and SACK precede it, the receipt that is read is the one written.
func TestReceiptIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := write(Acknowledge)
		drawCETH(t, &p)
		drawSACK(t, &p)
		drawReceipt(t, &p)
		p.Timestamped = rapid.Bool().Draw(t, "timestamps")
		f := built(p)
		var parsed Packet
		got, ok := f.Receipt()
		if err := parsed.Parse(f); err != nil || parsed.Receipt != p.Receipt || parsed.SACK != p.SACK || got != p.Receipt || ok != p.Receipted {
			t.Fatalf("%+v, and %+v, want %+v (%v)", parsed.Receipt, got, p.Receipt, err)
		}
	})
}

// A receipt with another code, reserved bits or cut short is rejected and reports nothing, and no READ request has one.
func TestInvalidReceipt(t *testing.T) {
	for name, edit := range map[string]func(*Frame){
		"code":     func(f *Frame) { f.head[58] ^= 0x80 },
		"flags":    func(f *Frame) { f.head[58] |= 1 },
		"penalty":  func(f *Frame) { f.head[62] |= 0x80 },
		"reserved": func(f *Frame) { f.head[73] = 1 },
		"short":    func(f *Frame) { f.n -= 4 },
	} {
		f := built(receipted(write(Acknowledge)))
		edit(f)
		if _, ok := f.Receipt(); ok || !errors.Is(new(Packet).Parse(f), ErrMalformed) {
			t.Errorf("%s is accepted", name)
		}
	}

	read := write(ReadRequest)
	read.BTH.BECN, read.CETH = true, CETH{Version: CETHVersion, Words: 4}
	f := built(read)
	receipt := receipted(read).Receipt
	receipt.put(f.head[f.n:])
	if f.n += receiptLen; !errors.Is(new(Packet).parseAppended(f), ErrMalformed) {
		t.Error("a READ request with a receipt is accepted")
	}
}

// A data packet that was sent before has one of the reserved bits set.
func TestResent(t *testing.T) {
	for _, before := range []bool{false, true} {
		p := write(WriteOnly)
		p.BTH.Resv7 = SentBefore(before)
		if f := built(p); f.Resent() != before || !f.AckReq() {
			t.Errorf("Resent %v, AckReq %v, want %v and true", f.Resent(), f.AckReq(), before)
		}
	}
}

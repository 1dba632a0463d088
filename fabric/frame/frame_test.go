package frame

import (
	"reflect"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

func TestLen(t *testing.T) {
	data := Packet{BTH: BTH{Opcode: WriteMiddle}, Payload: 1000}
	ack := Packet{BTH: BTH{Opcode: Acknowledge}}
	cnp := Packet{BTH: BTH{Opcode: OpcodeCNP}}
	short := Packet{BTH: BTH{Opcode: WriteLast}, Payload: 0}
	for name, c := range map[string]struct {
		build func(*Frame)
		want  unit.Bytes
	}{
		"data: 14+20+8+12, payload, ICRC, FCS": {data.Build, 54 + 1000 + 4 + 4},
		"ack: AETH of 4":                       {ack.Build, 54 + 4 + 4 + 4},
		"cnp: 16 reserved":                     {cnp.Build, 54 + 16 + 4 + 4},
		"shorter than the minimum":             {short.Build, 64},
		"pause":                                {new(PFC).Build, 64},
		"empty":                                {func(*Frame) {}, 64},
		"not RoCE: no ICRC":                    {func(f *Frame) { f.SetHeader(make([]byte, 14)); f.Payload = 500 }, 518},
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			c.build(&f)
			if got := f.Len(); got != c.want {
				t.Errorf("Len = %d, want %d", got, c.want)
			}
		})
	}
}

func TestSetHeader(t *testing.T) {
	var f Frame
	long := make([]byte, HeaderRoom)
	for i := range long {
		long[i] = 0xaa
	}
	if !f.SetHeader(long) || string(f.Header()) != string(long) {
		t.Fatal("a header of HeaderRoom is not taken")
	}
	if f.SetHeader(make([]byte, HeaderRoom+1)) || string(f.Header()) != string(long) {
		t.Error("a header above HeaderRoom is taken")
	}
	f.SetHeader([]byte{1, 2})
	var fresh Frame
	fresh.SetHeader([]byte{1, 2})
	if f != fresh {
		t.Error("an earlier, longer header shows in ==")
	}
}

// A frame fills whole lines of the cache (64 bytes).
func TestFrameFillsLinesOfTheCache(t *testing.T) {
	if size := reflect.TypeFor[Frame]().Size(); size != 256 {
		t.Errorf("a frame has %d bytes, want 256", size)
	}
}

package credit

import (
	"testing"

	"pgregory.net/rapid"
)

// CBRC-24: 24 bits on the wire, and other widths by configuration. The nearest
// count is decoded, so that the counter may wrap.
func TestCreditCounterWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Counter(rapid.SampledFrom([]int{12, 16, 24, 32}).Draw(t, "width"))
		near := rapid.Int64Range(0, 1<<40).Draw(t, "near")
		half := int64(1)<<(c-1) - 2
		count := max(0, near+rapid.Int64Range(-half, half).Draw(t, "ahead"))
		got := c.Decode(c.Encode(count), near)
		want := count
		switch uint32(count) & c.mask() {
		case 0:
			want++
		case c.mask():
			want--
		}
		if got != want {
			t.Fatalf("%d bits: %d near %d decoded as %d, want %d", c, count, near, got, want)
		}
	})
}

// CBRC-21, CBRC-23: all zeros and all ones are the excess signal and never a
// target. A target with such a value is moved by one quantum.
func TestReservedValuesAreNeverTargets(t *testing.T) {
	for _, c := range []Counter{UETCounter, EQDSCounter} {
		for _, e := range []Excess{ExcessZeros, ExcessOnes} {
			if !c.IsExcess(e.Signal(c)) {
				t.Errorf("%d bits: the signal %s is not recognised", c, e)
			}
		}
		whole := int64(1) << c
		for _, tt := range []struct{ count, sent int64 }{
			{0, 1}, {whole, 1}, {whole - 1, whole - 2}, {2*whole - 1, whole - 2}, {1, 1}, {whole + 5, 5},
		} {
			got := c.Encode(tt.count)
			if int64(got) != tt.sent || c.IsExcess(got) {
				t.Errorf("%d bits: %d is sent as %d, want %d", c, tt.count, got, tt.sent)
			}
		}
	}
	if ExcessZeros.Signal(UETCounter) != 0 || ExcessOnes.Signal(UETCounter) != 0xFFFFFF {
		t.Error("the signals of 24 bits are not 0x000000 and 0xFFFFFF")
	}
}

package unit

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Time
	}{{"5us", 5e6}, {"12.8us", 12_800_000}, {"0", 0}, {"1.5ms", 1_500_000_000}, {"3 ns", 3000}, {"1s", 1e12}, {"5\u00b5s", 5e6}, {"5\u03bcs", 5e6}} {
		if got, err := ParseTime(c.in); err != nil || got != c.want {
			t.Errorf("ParseTime(%q) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
	for in, want := range map[string]Rate{"2.5Gbps": 2_500_000_000, "2.5 Gbit/s": 2_500_000_000, "3bit/s": 3, "3kbit/s": 3000, "3Mbit/s": 3e6, "1Tbit/s": 1e12} {
		if r, err := ParseRate(in); err != nil || r != want {
			t.Errorf("%s = %d, %v; want %d", in, r, err, want)
		}
	}
	for in, want := range map[string]Bytes{"64KB": 64000, "64KiB": 65536, "1000B": 1000, "0.5MB": 500000} {
		if b, err := ParseBytes(in); err != nil || b != want {
			t.Errorf("%s = %d, %v; want %d", in, b, err, want)
		}
	}
}

func TestCounted(t *testing.T) {
	for n, want := range []string{"0 links", "1 link", "2 links"} {
		if got := Counted(n, "link"); got != want {
			t.Errorf("Counted(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParseErrorsListTheUnits(t *testing.T) {
	for _, in := range []string{"", "5", "-5us", "5parsecs", "us", "1.2.3us", "0.5ps", "99999999999999999999s", "9999999999s", "."} {
		_, err := ParseTime(in)
		if err == nil {
			t.Errorf("ParseTime(%q) was accepted", in)
		}
		if in == "5parsecs" && !strings.Contains(err.Error(), "us") {
			t.Errorf("the error does not name the units: %v", err)
		}
	}
}

func TestSpellingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 1<<62).Draw(t, "v")
		if got, err := ParseTime(Time(v).String()); err != nil || got != Time(v) {
			t.Fatalf("%s: %d %v", Time(v), got, err)
		}
		if got, err := ParseRate(Rate(v).String()); err != nil || got != Rate(v) {
			t.Fatalf("%s: %d %v", Rate(v), got, err)
		}
		if got, err := ParseBytes(Bytes(v).String()); err != nil || got != Bytes(v) {
			t.Fatalf("%s: %d %v", Bytes(v), got, err)
		}
	})
}

// The twin computes with big integers instead of 128 bits.
func TestSerialiseAndOverMatchBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<40).Draw(t, "bytes")
		r := rapid.Int64Range(1, 1<<40).Draw(t, "rate")
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(8e12))
		want.Add(want, big.NewInt(r-1)).Div(want, big.NewInt(r))
		got := Rate(r).Serialise(Bytes(n))
		if want.IsInt64() && got != Time(want.Int64()) || !want.IsInt64() && got != Never {
			t.Fatalf("Serialise(%d at %d) = %d, want %s", n, r, got, want)
		}
		span := rapid.Int64Range(1, 1<<45).Draw(t, "span")
		carried := new(big.Int).Mul(big.NewInt(r), big.NewInt(span))
		carried.Div(carried, big.NewInt(8e12))
		if got := Rate(r).In(Time(span)); int64(got) != carried.Int64() {
			t.Fatalf("In = %d, want %s", got, carried)
		}
	})
}

func TestSerialiseSmallFlows(t *testing.T) {
	// PCN-4: a flow of 64 KB takes 12.8 us at 40 Gbit/s.
	if got := (40 * GigabitPerSec).Serialise(64 * Kilobyte); got != 12_800_000 {
		t.Fatalf("64 KB at 40 Gbit/s last %s", got)
	}
	if got := Over(64*Kilobyte, 12_800_000); got != 40*GigabitPerSec {
		t.Fatalf("64 KB in 12.8 us are %s", got)
	}
	if Rate(0).Serialise(1) != Never || Over(1, 0) != 0 {
		t.Fatal("want Never at rate 0 and rate 0 over no time")
	}
}

package sweep

import (
	"slices"
	"strings"
	"testing"
)

// COLL-17: A range of sizes is a list of values, as -b, -e, -f and -i of nccl-tests make it.
func TestRanges(t *testing.T) {
	for list, want := range map[string]string{
		"1KiB..16KiB*4":            "1KiB 4KiB 16KiB",
		"256KiB..4MiB*2":           "256KiB 512KiB 1MiB 2MiB 4MiB",
		"1KB..100KB*10,1MB":        "1KB 10KB 100KB 1MB",
		"1KB..65KB*4":              "1KB 4KB 16KB 64KB",
		"1MB..3MB+1MB":             "1MB 2MB 3MB",
		"10us..50us+20us":          "10us 30us 50us",
		"10Gbps..100Gbps*2":        "10Gbps 20Gbps 40Gbps 80Gbps",
		"1..8*2":                   "1 2 4 8",
		"0.1..0.3+0.1":             "0.1 0.2 0.3",
		"2..2+1":                   "2",
		"h0..h3,[1..2]":            "h0..h3 [1..2]",
		"999KB,1000KiB..1000KiB*2": "999KB 1.024MB",
	} {
		a, err := ParseAxis("sum.size=" + list)
		if got := strings.Join(a.Values, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", list, got, err, want)
		}
	}
	long, err := ParseAxis("sum.size=8B..8GiB*2")
	if err != nil || len(long.Values) != 31 || !slices.Contains(long.Values, "8192MiB") {
		t.Errorf("%q, %v", long.Values, err)
	}
}

// COLL-17: An invalid range is reported with what is allowed.
func TestFaultyRanges(t *testing.T) {
	for list, want := range map[string]string{
		"1KB..64MB":       "sum.size: range 1KB..64MB: want a factor or a step: 1KB..64MB*2 or 1KB..64MB+1KB",
		"1KB..64MB*1":     "want a factor above 1",
		"1KB..64MB*KB":    "want a factor above 1",
		"0..64MB*2":       "want a factor above 1, and a begin above 0",
		"1KB..64MB+1":     "want a step above 0, written as 1KB",
		"1KB..64us*2":     "want two numbers, or two sizes, times or rates",
		"2KB..1KB*2":      "the end is below the begin",
		"1..1000000000+1": "more than 100000 values",
		"1KB..2KB*2,1KB":  "value 1KB is repeated",
		"1B..3B*1.5":      "value 2B is repeated",
		"1KB..64KB*1e400": "want a factor above 1",
		"1KB..64KB*2*2":   "want a factor above 1",
	} {
		if _, err := ParseAxis("sum.size=" + list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", list, err, want)
		}
	}
}

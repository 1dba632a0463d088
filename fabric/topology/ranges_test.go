package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestListsAndRangesExpandInOrder(t *testing.T) {
	for list, want := range map[string]string{
		"h0":               "h0",
		"h0..h0":           "h0",
		"h2..h5":           "h2 h3 h4 h5",
		"h9..h11, r0,h0":   "h9 h10 h11 r0 h0",
		"leaf-1..leaf-2":   "leaf-1 leaf-2",
		"rack2h8..rack2h9": "rack2h8 rack2h9",
	} {
		if got, err := Names(list); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", list, got, err)
		}
	}
}

// The reference implementation prints the names one after the other.
func TestRangeContainsEveryNumberBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(0, 1000).Draw(t, "lo")
		n := rapid.IntRange(1, 100).Draw(t, "n")
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf("h%d", lo+i))
		}
		got, err := Names(want[0] + ".." + want[n-1])
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v", got, err)
		}
	})
}

func TestInvalidNamesAreRejected(t *testing.T) {
	for _, list := range []string{
		"", ",", "h0,", "0h", "h 0", "h.0", "h0..", "..h0", "h0...h2", "h0..h1..h2", "h..h2", "h0..h01",
		"h0..h131072", "h1,h0..h2", "h>", "*", strings.Repeat("h", 64), "h0..h99999999999999999999",
	} {
		if got, err := Names(list); err == nil {
			t.Errorf("%q gives %v", list, got)
		}
	}
}

// Names parses what JoinNames writes, with ranges for consecutive numbers.
func TestNamesAreJoined(t *testing.T) {
	for _, want := range []string{"h0", "h0..h2", "h0..h1, h3", "h9..h11, r0..r1, x", "h01, h02", "h1, h0", "h0..h1, h3..h4"} {
		names, err := Names(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := JoinNames(names); got != want {
			t.Errorf("%v: %q, want %q", names, got, want)
		}
	}
}

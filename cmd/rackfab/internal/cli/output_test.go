package cli

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

func TestRound(t *testing.T) {
	for r, want := range map[unit.Rate]unit.Rate{
		0: 0, 999: 999, 1000: 1000, 24_847_187_545: 24_800_000_000, 9_996: 10_000, 40_000_000_000: 40_000_000_000, -1234: -1230,
	} {
		if got := Round(r, 3); got != want {
			t.Errorf("%s: %s, want %s", r, got, want)
		}
	}
	if got := Round(unit.Time(1_575_618_400), Digits).String(); got != "1.576ms" {
		t.Error(got)
	}
}

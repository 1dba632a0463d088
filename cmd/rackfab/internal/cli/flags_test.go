package cli

import "testing"

// A share of envelopes is a percentage or a number.
func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "0": 0, "100%": 1} {
		if got, err := parseShare(text); err != nil || got != want {
			t.Errorf("%s: %g, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "5 %", "-1%", "101%", "5", "NaN", "a"} {
		if got, err := parseShare(text); err == nil {
			t.Errorf("%q: %g", text, got)
		}
	}
}

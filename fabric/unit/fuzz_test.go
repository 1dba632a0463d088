package unit

import "testing"

// A quantity of any text is refused, or equal to the one that is parsed from its own text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"5us", "1.5ms", "64KB", "9KiB", "40Gbps", "-1", "1e9", "9223372036854775807ps", "0x10B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseTime(s); err == nil {
			if again, err := ParseTime(v.String()); err != nil || again != v {
				t.Errorf("%q: %v, again %v, %v", s, v, again, err)
			}
		}
		if v, err := ParseBytes(s); err == nil {
			if again, err := ParseBytes(v.String()); err != nil || again != v {
				t.Errorf("%q: %v, again %v, %v", s, v, again, err)
			}
		}
		if v, err := ParseRate(s); err == nil {
			if again, err := ParseRate(v.String()); err != nil || again != v {
				t.Errorf("%q: %v, again %v, %v", s, v, again, err)
			}
		}
	})
}

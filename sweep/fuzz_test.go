package sweep

import (
	"slices"
	"strings"
	"testing"
)

// A valid axis survives a round trip through its text form.
func FuzzParseAxis(f *testing.F) {
	for _, s := range []string{"switch.xoff=1KB,2KB", "switch.lossless=[3],[3, 4]", "a={1: 2, 3: 4},{}", "=", "a=,", "a=]],[", "a=b=c", "a=1KiB..1MiB*4,2KB", "a=0.1..1+0.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAxis(s)
		if err != nil {
			return
		}
		back, err := ParseAxis(a.Key + "=" + strings.Join(a.Values, ","))
		if err != nil || back.Key != a.Key || !slices.Equal(back.Values, a.Values) {
			t.Fatalf("%q parses as %+v, whose text parses as %+v, %v", s, a, back, err)
		}
	})
}

package topology

import "testing"

// Whatever the bytes, Parse does not panic; and what it accepts is written back
// and read again as the same scenario.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(leafSpine))
	for _, name := range []string{"pcn-16to2", "star-2", "dumbbell-2-2"} {
		text, _ := Builtin(name)
		f.Add(text)
	}
	f.Add([]byte("name: [&a {b: *a}]"))
	f.Add([]byte("? {a: b}\n: c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Parse("fuzz.yaml", data); err == nil {
			same(t, s)
		}
	})
}

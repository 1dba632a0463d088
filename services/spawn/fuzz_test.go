package spawn

import (
	"bufio"
	"bytes"
	"testing"
)

// A first line of any bytes on standard input is refused, or written again as the same
// secrets.
func FuzzSecrets(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte("{\"User\":\"a\",\"Password\":\"b\",\"Users\":[{\"Public\":\"U\",\"Publish\":[\"a.*\"]}]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readSecrets(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return
		}
		var line, again bytes.Buffer
		if err := s.write(&line); err != nil {
			t.Fatal(err)
		}
		want := line.String()
		back, err := readSecrets(bufio.NewReader(&line))
		if err != nil {
			t.Fatal(err)
		}
		if err := back.write(&again); err != nil || again.String() != want {
			t.Errorf("%q becomes %q, %v", want, again.String(), err)
		}
	})
}

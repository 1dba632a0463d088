package load

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// IMP-12: A file with a byte-order mark is read as without it, a scenario as well as a file of another simulator.
func TestByteOrderMark(t *testing.T) {
	for name, text := range map[string]string{
		"x.yaml": "name: x\nduration: 1us\nnics: {h0..h1: }\nswitches: {s0: }\nlinks: [{endpoints: [h0..h1, s0], rate: 1Gbps, delay: 1us}]\n",
		"x.cm":   "Nodes 2\r\nConnections 1\r\n0->1 start 0 size 5\r\n",
		"x.goal": "num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from 0\n}\n",
	} {
		wide := []byte{0xff, 0xfe}
		for i := range len(text) {
			wide = append(wide, text[i], 0)
		}
		for _, data := range [][]byte{[]byte("\ufeff" + text), wide} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Scenario(io.Discard, path); err != nil {
				t.Errorf("%s, %x...: %v", name, data[:4], err)
			}
		}
	}
}

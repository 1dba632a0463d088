package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// logged has flows with and without an id, a burst, and a program whose second message waits for the first.
const logged = `
name: logged
duration: 200us
scheme: pfc
nics: {h0..h2: {payload: 1000B}}
switches: {s0: }
links: [{endpoints: [h0..h2, s0], rate: 40Gbps, delay: 1us}]
flows:
  - {name: F12, from: h0, to: h2, size: 1001B, start: 40us}
  - {name: G, from: h2, to: h0, size: 1000B}
bursts: [{name: B, from: h0, to: h1, size: 500B, at: 60us}]
programs:
  h0: |
    wait: calc 1us
    F7-2: send 2000B to h1 tag 5 after wait
    send 1B to h2 after F7-2
  h1: receive from h0 tag 5
`

// The log has a line per flow and message, in the order in which they finished. A step that is no message has
// none.
func TestHTSimLog(t *testing.T) {
	s, err := scenariofile.Parse("logged", []byte(logged))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Replay(t.Context(), s, digestOf(t, s), 1)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := e.WriteHTSim(&b, s); err != nil {
		t.Fatal(err)
	}
	var got []string
	last := 0.0
	for line := range strings.Lines(b.String()) {
		var name, node string
		var id, source, packets, bytes int
		var at float64
		if _, err := fmt.Sscanf(line, "Flow %s flowId %d %s %d finished at %f total messages 1 total packets %d RTS 0 total bytes %d in_flight now 0\n",
			&name, &id, &node, &source, &at, &packets, &bytes); err != nil || node != "uecSrc" {
			t.Fatalf("%q: %v", line, err)
		}
		if at < last || at > 80 {
			t.Errorf("%q, after %f", line, last)
		}
		if name == "Uec_0_2" && id == 12 && (at < 40+4 || at > 40+6) { // 4 us of propagation, there and back
			t.Errorf("%q: a flow of two packets from 40 us", line)
		}
		last = at
		got = append(got, fmt.Sprint(name, " ", id, " ", packets, " ", bytes, " ", source))
	}
	// The flows are F12, G, that of B, and those of the program, which have no lines of their own.
	want := []string{"Uec_2_0 1000000001 1 1000 1", "Uec_0_1 7 2 2000 5", "Uec_0_2 1000000006 1 1 6", "Uec_0_2 12 2 1001 0", "Uec_0_1 1000000002 1 500 2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%s", d, b.String())
	}
	if again, err := Replay(t.Context(), s, digestOf(t, s), 3); err != nil || cmp.Diff(e, again) != "" {
		t.Errorf("three cores: %v %s", err, cmp.Diff(e, again))
	}
}

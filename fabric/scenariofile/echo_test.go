package scenariofile

import (
	"strings"
	"testing"
)

// hpcc reacts to the load that ACKs echo, so that their ports cannot be mirrored. The key of
// several NICs is reported once, with the other faults.
func TestFaultsOfEchoes(t *testing.T) {
	for settings, want := range map[string]string{
		"nic.ack_ports=mirrored scheme=hpcc":     "nic.ack_ports: ACKs with mirrored ports cannot carry the load that the scheme hpcc reacts to, want plain",
		"nic.ack_ports=plain scheme=hpcc":        "",
		"nic.ack_ports=mirrored scheme=dctcp":    "",
		"nic.ack_ports=mirrored scheme=powertcp": "nic.ack_ports: ACKs with mirrored ports cannot carry the load that the scheme powertcp reacts to, want plain",
	} {
		_, err := with(t, strings.Fields(settings)...)
		if want == "" && err != nil || want != "" && (err == nil || strings.Count(err.Error(), want) != 1) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}

// The load of every switch must fit the links; a scheme without load needs no room for it. Frames
// have 16 bytes of shim and header, and 12 for each of two switches: 1000 + 78 + 40.
func TestLoadsFitTheLinks(t *testing.T) {
	const text = `name: narrow
duration: 1ms
scheme: hpcc
nics: {a: {payload: 1000B}, b: }
switches: {s0..s1: }
links:
  - {endpoints: [a, s0], rate: 40Gbps, delay: 5us}
  - {endpoints: [s0, s1], rate: 40Gbps, delay: 5us, mtu: 1117B}
  - {endpoints: [s1, b], rate: 40Gbps, delay: 5us}
`
	_, err := Parse("narrow.yaml", []byte(text))
	if want := "4: nics.a.payload: a payload of 1000B needs frames of 1118B with the load of their path under the scheme hpcc, above the mtu of 1117B of link s0-s1: want a payload of at most 996B"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	for _, wider := range []string{strings.Replace(text, "1117B", "1118B", 1), strings.Replace(text, "hpcc", "swift", 1)} {
		if _, err := Parse("narrow.yaml", []byte(wider)); err != nil {
			t.Error(err)
		}
	}
}

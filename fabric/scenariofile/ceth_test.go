package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

const narrow = `name: narrow
duration: 1ms
scheme: ceth
nics: {a: {payload: 1000B}, b: }
links: [{endpoints: [a, b], rate: 40Gbps, delay: 5us, mtu: 1101B}]
schemes: {ceth: {source: int}}
`

// Frames with telemetry must fit the links. A scheme without telemetry needs no room
// for it.
func TestTelemetryFitsTheLinks(t *testing.T) {
	_, err := Parse("narrow.yaml", []byte(narrow))
	if err == nil || !strings.Contains(err.Error(), "4: nics.a.payload: a payload of 1000B needs frames of 1102B with the telemetry of schemes.ceth.source int, above the mtu of 1101B of link a-b: want a payload of at most 996B") {
		t.Errorf("%v", err)
	}
	for _, other := range []string{"source: window", "source: ioam, words: 2"} {
		if _, err := Parse("narrow.yaml", []byte(strings.Replace(narrow, "source: int", other, 1))); (err == nil) != (other == "source: window") {
			t.Errorf("%s: %v", other, err)
		}
	}
	if _, err := Parse("wide.yaml", []byte(strings.Replace(narrow, "1101B", "1102B", 1))); err != nil {
		t.Error(err)
	}
}

// CETH-62: the time window that a file leaves open is one base RTT.
func TestLongestBaseRTT(t *testing.T) {
	s, err := Parse("flows.yaml", []byte(strings.Replace(narrow, "source: int", "source: window", 1)+
		"flows: [{name: F, from: a, to: b, size: endless}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	// The frames are 1086 bytes forth and 74 bytes back at 40 Gbit/s, with 5 us each
	// way; both have timestamps.
	if got, want := routes.BaseRTTs(s)[0], 10*unit.Microsecond+(1086+74)*200*unit.Picosecond; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const retryText = `
name: retry
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us, llr: true, llr_spacing: 4096B}}
nics: {h0: , r0: }
switches: {s0: }
links:
  - {endpoints: [h0, s0]}
  - {endpoints: [s0, r0], llr_buffer: 64KB, llr_timeout: 20us, llr_retries: 7, llr_latency: 100ns}
flows: [{name: F, from: h0, to: r0, size: 1MB}]
`

// A link inherits the settings of retry from the defaults, overrides them, and is written back
// with them.
func TestRetryOfLinks(t *testing.T) {
	s, err := Parse("retry.yaml", []byte(retryText))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i, want := range []topology.Retry{
		{On: true, Settings: llr.Settings{Retries: 3, Spacing: 4096}},
		{On: true, Settings: llr.Settings{
			Retries: 7, Spacing: 4096, Buffer: 64_000, Timeout: 20 * unit.Microsecond, Latency: 100 * unit.Nanosecond,
		}},
	} {
		if s.Links[i].Retry != want || again.Links[i].Retry != want {
			t.Errorf("link %d: %+v, written and read %+v, want %+v", i, s.Links[i].Retry, again.Links[i].Retry, want)
		}
	}
}

func TestInvalidRetryOfLinks(t *testing.T) {
	for set, want := range map[string]string{
		"link.llr=maybe":           "neither true nor false",
		"link.llr_retries=0":       "1 to 255",
		"link.llr_retries=256":     "1 to 255",
		"link.llr_buffer=20MB":     "16.777216MB",
		"link.llr_buffer=1000B":    "llr_buffer is smaller than the mtu of the link",
		"link.llr_timeout=2us":     "llr_timeout is not above the time from a frame to its ACK",
		"s0--r0.llr_timeout=2us":   "llr_timeout is not above the time from a frame to its ACK",
		"s0->r0.llr=true":          "llr",
		"link.llr_spacing=-1B":     "llr_spacing",
		"link.llr_latency=2000us":  "1ms",
		"s0--r0.llr_latency=-20ns": "llr_latency",
	} {
		key, value, _ := strings.Cut(set, "=")
		_, err := ParseWith("retry.yaml", []byte(retryText), []topology.Setting{{Key: key, Value: value}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", set, err, want)
		}
	}
}

// A running rack keeps the settings of retry.
func TestRetryOfLinksIsNotLive(t *testing.T) {
	_, err := Parse("retry.yaml", []byte(retryText+"changes: [{at: 10us, set: s0--r0.llr=false}]\n"))
	if err == nil || !strings.Contains(err.Error(), "llr") {
		t.Errorf("%v, want an error that names llr", err)
	}
}

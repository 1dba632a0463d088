package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
)

// sample is a valid file. The tests of faults make errors in its lines.
const sample = `name: sample
seed: 7
duration: 1ms
bin: 10us
scheme: pcn
defaults:
  link: {rate: 40Gbps, delay: 5us}
nics:
  h0..h3: {payload: 1000B}
  r0:
switches:
  s0..s1: {buffer: 12MB}
links:
  - {endpoints: ["h0..h3", s0]}
  - {endpoints: [s0, s1], rate: 100Gbps}
  - {endpoints: [r0, s1]}
flows:
  - {name: F0, from: h0, to: r0, size: 1MB, start: 0us}
bursts:
  - {name: burst, from: h1..h3, to: r0, size: 64KB, at: 100us}
schemes:
  pcn: {wmin: 0.01, wmax: 0.5}
`

func parsed(t testing.TB, text string) *topology.Scenario {
	t.Helper()
	s, err := Parse("sample.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return s
}

func builtin(t testing.TB, name string) *topology.Scenario {
	t.Helper()
	text, ok := Builtin(name)
	if !ok {
		t.Fatalf("no scenario %s", name)
	}
	return parsed(t, string(text))
}

// edited returns the sample with old replaced. old must occur exactly once.
func edited(t testing.TB, old, with string) string {
	t.Helper()
	if strings.Count(sample, old) != 1 {
		t.Fatalf("the sample holds %q %d times", old, strings.Count(sample, old))
	}
	return strings.Replace(sample, old, with, 1)
}

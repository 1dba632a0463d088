package scenariofile_test

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// A file names nodes by ranges and gives common settings once. Parse reports all its
// errors at once.
func ExampleParse() {
	const file = `name: incast
duration: 1ms
scheme: pcn
defaults:
  link: {rate: 100Gbps, delay: 1us}
  switch: {buffer: 16MB}
nics:
  h0..h7:
  h7: {payload: 512B}      # a later key overrides
  r0:
switches: {s0: {xoff: 150KB}}
links:
  - endpoints: ["h0..h7, r0", s0]
flows:
  - {name: F0, from: h0, to: r0, size: endless, initial_rate: 50Gbps}
bursts:
  - {name: burst, from: h1..h7, to: r9, flows_per_sender: 4, size: 64KB, at: 2ms}
`
	_, err := scenariofile.Parse("incast.yaml", []byte(file))
	fmt.Println(err) //nolint:forbidigo // an example's output is what it prints
	// Output:
	// incast.yaml:17: bursts[0].at: 2ms is not before the end of the run, want less than the duration of 1ms
	// incast.yaml:17: bursts[0].to: unknown node r9, want one of h0, h1, h2, h3, h4, h5, h6, h7, r0, s0
}

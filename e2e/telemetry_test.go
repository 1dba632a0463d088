package e2e

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
)

// BenchmarkTelemetry runs the paper's rack alternately without telemetry and with the
// default telemetry to its own collector: with a process per node over NATS, and in
// memory. It reports the frame-hops per second of each, and the reduction by telemetry
// in percent.
func BenchmarkTelemetry(b *testing.B) {
	for _, on := range []string{"nats", "memory"} {
		b.Run(on, func(b *testing.B) {
			var hops int64
			var plain, exported float64 // seconds
			for b.Loop() {
				without, with := timed(b, on), timed(b, on, "--telemetry")
				if without.Digest != with.Digest {
					b.Fatalf("digest %s without telemetry, %s with it", without.Digest, with.Digest)
				}
				hops += without.FrameHops
				plain, exported = plain+without.Wall, exported+with.Wall
			}
			b.ReportMetric(float64(hops)/plain/1e6, "Mhops/s-without")
			b.ReportMetric(float64(hops)/exported/1e6, "Mhops/s-with")
			b.ReportMetric(100*(1-plain/exported), "%fewer")
		})
	}
}

// timed returns a run, and fails if any telemetry was dropped.
func timed(b *testing.B, on string, flags ...string) *measure.Run {
	r := start(b, append([]string{"--scheme", "pcn", "--bus", on}, flags...)...)
	out := r.results(b)
	if log := r.seen.String(); strings.Contains(log, "dropped") {
		b.Fatal(log)
	}
	return out.Runs[0]
}

package e2e

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
)

// BenchmarkTelemetry runs the paper's rack alternately without telemetry and with the
// default telemetry to its own collector: with a process per node over NATS, and in
// memory. It reports the frame-hops per second of each, and the loss with telemetry in
// percent.
func BenchmarkTelemetry(b *testing.B) {
	for _, on := range []string{"nats", "memory"} {
		b.Run(on, func(b *testing.B) {
			var hops int64
			var silent, told float64 // seconds
			for b.Loop() {
				without, with := timed(b, on), timed(b, on, "--telemetry")
				if without.Digest != with.Digest {
					b.Fatalf("digest %s without telemetry, %s with it", without.Digest, with.Digest)
				}
				hops += without.FrameHops
				silent, told = silent+without.Wall, told+with.Wall
			}
			b.ReportMetric(float64(hops)/silent/1e6, "Mhops/s-without")
			b.ReportMetric(float64(hops)/told/1e6, "Mhops/s-with")
			b.ReportMetric(100*(1-silent/told), "%fewer")
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

package labexport_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/labexport"
)

// BenchmarkExport runs the paper's rack in turn without telemetry, with the default
// sampling and with every message sampled. It reports the overhead of export in
// percent: of the CPU time of the loop that drives the rack, which bounds its
// frame-hops per second if another processor is free, and of the CPU time of the whole
// process. It uses the minimum of all rounds.
func BenchmarkExport(b *testing.B) {
	address := serve(b)
	cases := []struct {
		name      string
		telemetry *rackfabv1.Telemetry
	}{{"off", nil}, {"default", &rackfabv1.Telemetry{Run: "bench", SampleRatio: 0.01}}, {"all", &rackfabv1.Telemetry{Run: "bench", SampleRatio: 1}}}
	loop, whole, hops := make([][]time.Duration, len(cases)), make([][]time.Duration, len(cases)), int64(0)
	runtime.LockOSThread() // so that the thread's CPU time is that of the loop
	defer runtime.UnlockOSThread()
	for b.Loop() {
		for i, c := range cases {
			rack, err := lab.New(paper(b, "20ms", "pcn"))
			if err != nil {
				b.Fatal(err)
			}
			thread, process := used(b, unix.RUSAGE_THREAD), used(b, unix.RUSAGE_SELF)
			var exporter *labexport.Exporter
			if c.telemetry != nil {
				if exporter, err = labexport.Attach(rack, address, nil, c.telemetry); err != nil {
					b.Fatal(err)
				}
			}
			rack.Run(20 * unit.Millisecond)
			exporter.Finish(20 * unit.Millisecond)
			if n := exporter.Counts(); n.GetMade() != n.GetSent() || n.GetPointsMade() != n.GetPointsSent() {
				b.Errorf("some telemetry was not sent: %v", n)
			}
			exporter.Close()
			loop[i] = append(loop[i], used(b, unix.RUSAGE_THREAD)-thread)
			whole[i] = append(whole[i], used(b, unix.RUSAGE_SELF)-process)
			hops = rack.FrameHops()
		}
	}
	for i, c := range cases {
		b.ReportMetric(percent(loop, i), "%loop-"+c.name)
		b.ReportMetric(percent(whole, i), "%process-"+c.name)
		b.ReportMetric(float64(hops)/slices.Min(loop[i]).Seconds()/1e6, "Mhops/s-"+c.name)
	}
}

// percent returns the CPU time of a case beyond that of the first one, in percent.
func percent(took [][]time.Duration, i int) float64 {
	return 100 * (slices.Min(took[i]).Seconds()/slices.Min(took[0]).Seconds() - 1)
}

// used returns the CPU time so far, of this process or this thread.
func used(tb testing.TB, whose int) time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(whose, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

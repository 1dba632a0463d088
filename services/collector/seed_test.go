package collector

import (
	"math"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A run has its seed, from 0 to 2^64-1: as a number, as the text that OpenTelemetry has for large numbers,
// and as the negative number of earlier versions.
func TestSeedsOfRuns(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	want := map[string]uint64{}
	for i, seed := range []struct {
		sent any
		want uint64
	}{{7, 7}, {math.MaxInt64, math.MaxInt64}, {"9223372036854775808", 1 << 63}, {"18446744073709551615", math.MaxUint64}, {-2, math.MaxUint64 - 1}, {"", 0}} {
		run := string(rune('a' + i))
		want[run] = seed.want
		r := node("h0")
		r.Attributes = []*commonpb.KeyValue{attr("rackfab.run", run), attr("rackfab.seed", seed.sent), attr("rackfab.epoch_unix_nano", epoch)}
		if _, err := c.traces.Export(t.Context(), request(r, write(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.api.ListRuns(t.Context(), &rackfabv1.ListRunsRequest{})
	if err != nil || len(out.GetRuns()) != len(want) {
		t.Fatal(out, err)
	}
	for _, r := range out.GetRuns() {
		if got := r.GetUnsignedSeed(); got != want[r.GetRun()] || r.GetSeed() != int64(got) {
			t.Errorf("run %s: seed %d, %d, want %d", r.GetRun(), got, r.GetSeed(), want[r.GetRun()])
		}
	}
}

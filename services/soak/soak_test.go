package soak

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// history returns samples at intervals of a minute whose values follow from their number.
func history(n int, of func(i int) Sample) *History {
	h := &History{Process: "r1"}
	for i := range n {
		s := of(i)
		s.At = time.Duration(i) * time.Minute
		h.Samples = append(h.Samples, s)
	}
	return h
}

// The slope is that after the warm-up, and one outlier does not change it.
func TestSlope(t *testing.T) {
	h := history(21, func(i int) Sample {
		s := Sample{Live: 100*MiB + float64(i)*MiB/5, Resident: 200 * MiB}
		switch {
		case i < 5:
			s.Live = float64(i) * 10 * MiB
		case i == 12:
			s.Live *= 2
		}
		return s
	})
	got, err := h.Trend(5 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if m := got.Live.Median / MiB; m < 1.9 || m > 2.1 || got.Live.Low/MiB < 1.8 || got.Resident != 0 {
		t.Errorf("slopes %.2f (at least %.2f) and %.2f MiB in 10 min, want 2 and 0", m, got.Live.Low/MiB, got.Resident/MiB)
	}
	if f := got.Faults(&Limits{Slope: 1 * MiB}); len(f) != 1 || !strings.Contains(f[0], "r1: memory grows by 2.") {
		t.Errorf("faults %q", f)
	}
	if f := got.Faults(&Limits{Slope: 3 * MiB}); len(f) != 0 {
		t.Errorf("faults %q", f)
	}
	if _, err := h.Trend(18 * time.Minute); err == nil || !strings.Contains(err.Error(), "3 samples") {
		t.Errorf("3 samples: %v", err)
	}
}

// Noise alone exceeds a limit in at most some 2.5 % of the soaks, and a growth of twice the limit is found
// through the same noise. Samples between two collections repeat the earlier value, and do not count.
func TestSlopeThroughNoise(t *testing.T) {
	const soaks = 1000
	draw := rand.New(rand.NewPCG(1, 2))
	faults := func(growth float64) (n int) {
		for range soaks {
			live := 0.0
			h := history(60, func(i int) Sample {
				if i%3 == 0 { // a collection every three minutes
					live = 100*MiB + growth*float64(i)/10 + draw.NormFloat64()*MiB/2
				}
				return Sample{Live: live}
			})
			got, err := h.Trend(0)
			if err != nil {
				t.Fatal(err)
			}
			n += len(got.Faults(&Limits{Slope: 1 * MiB}))
		}
		return n
	}
	if n := faults(1 * MiB); n > soaks*4/100 {
		t.Errorf("%d of %d soaks at the limit exceed it", n, soaks)
	}
	if n := faults(2 * MiB); n < soaks*99/100 {
		t.Errorf("%d of %d soaks at twice the limit exceed it", n, soaks)
	}
}

// A count grows if it never comes back; peaks and one more from time to time are no growth.
func TestCounts(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(i int) float64
		want int
	}{
		"constant":  {func(int) float64 { return 30 }, 0},
		"peaks":     {func(i int) float64 { return float64(30 + i%3) }, 0},
		"one burst": {func(i int) float64 { return 30 + max(0, float64(i-18)) }, 0},
		"leak":      {func(i int) float64 { return float64(30 + i) }, 2},
		"late step": {func(i int) float64 { return 30 + float64(i/10) }, 2},
	} {
		got, err := history(20, func(i int) Sample { return Sample{Goroutines: c.of(i), Descriptors: c.of(i)} }).Trend(0)
		if err != nil {
			t.Fatal(err)
		}
		if f := got.Faults(&Limits{Slope: 1}); len(f) != c.want {
			t.Errorf("%s: faults %q, want %d", name, f, c.want)
		}
	}
}

const metrics = `# HELP go_goroutines Number of goroutines that currently exist.
# TYPE go_goroutines gauge
go_goroutines 12
go_gc_gogc_percent 300
go_memstats_next_gc_bytes 4.194304e+06
process_open_fds 9
process_resident_memory_bytes 2.097152e+07
`

func TestRead(t *testing.T) {
	text := metrics
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	got, err := Read(t.Context(), address, time.Second)
	want := Sample{At: time.Second, Live: 1 * MiB, Resident: 20 * MiB, Goroutines: 12, Descriptors: 9}
	if err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	text = strings.Replace(metrics, "go_goroutines 12", "go_goroutines x", 1)
	if _, err := Read(t.Context(), address, 0); err == nil || !strings.Contains(err.Error(), "go_goroutines") {
		t.Errorf("a broken metric: %v", err)
	}
	text = strings.Replace(metrics, "process_open_fds 9\n", "", 1)
	if _, err := Read(t.Context(), address, 0); err == nil || !strings.Contains(err.Error(), "process_open_fds is missing") {
		t.Errorf("a missing metric: %v", err)
	}
}

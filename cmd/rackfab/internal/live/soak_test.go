package live

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/soak"
)

// valid returns settings that complete accepts.
func valid() soakFlags {
	return soakFlags{lasts: time.Minute, every: time.Second, flows: 1, most: 1}
}

// Invalid flags of a soak are all named.
func TestSoakFlags(t *testing.T) {
	for want, alter := range map[string]func(f *soakFlags){
		"":                                       func(*soakFlags) {},
		"--every 0s: must be above 0":            func(f *soakFlags) { f.every = 0 },
		"--every 1m0s: must be below --for 1m0s": func(f *soakFlags) { f.every = time.Minute },
		"--sample -1s: must be above 0":          func(f *soakFlags) { f.sample = -time.Second },
		"--warm-up -1s: must be 0 or more":       func(f *soakFlags) { f.limits.WarmUp = -time.Second },
		"--flows 0: must be 1 or more":           func(f *soakFlags) { f.flows = 0 },
		"--most NaN: must be 0 or more":          func(f *soakFlags) { f.most = math.NaN() },
		"--flows -1: must be 1 or more\n--most -1: must be 0 or more":                     func(f *soakFlags) { f.flows, f.most = -1, -1 },
		"--for 1m0s: must be at least four samples of 15s longer than the warm-up of 20s": func(f *soakFlags) { f.sample = 15 * time.Second },
	} {
		f := valid()
		alter(&f)
		if err := f.complete(); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// soaked is a rack of one process, whose controller fails once the process has been sampled often enough.
type soaked struct {
	rackfabv1.FabricServiceClient
	metrics string
	samples atomic.Int64
}

func (s *soaked) Metrics() map[string]string { return map[string]string{"r1": s.metrics} }

func (s *soaked) Failed() context.Context { return context.Background() }

func (s *soaked) GetStats(context.Context, *rackfabv1.GetStatsRequest, ...grpc.CallOption) (*rackfabv1.GetStatsResponse, error) {
	if s.samples.Load() >= 4 {
		return nil, errors.New("the controller is lost")
	}
	return &rackfabv1.GetStatsResponse{}, nil
}

func (s *soaked) Apply(context.Context, *rackfabv1.ApplyRequest, ...grpc.CallOption) (*rackfabv1.ApplyResponse, error) {
	return nil, nil
}

// A soak that ends by an error prints its measurements before it, and where there are too few.
func TestInterruptedSoak(t *testing.T) {
	s := &soaked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.samples.Add(1)
		_, _ = w.Write([]byte("go_goroutines 12\ngo_gc_gogc_percent 100\ngo_memstats_next_gc_bytes 4194304\nprocess_open_fds 9\nprocess_resident_memory_bytes 2097152\n"))
	}))
	defer server.Close()
	s.metrics = strings.TrimPrefix(server.URL, "http://")
	f := soakFlags{lasts: time.Hour, every: time.Millisecond, sample: time.Millisecond}
	var out strings.Builder
	result, err := f.drive(t.Context(), &out, s, &bursts{api: s, flows: 1})
	err = f.report(&out, result, err)
	if err == nil || err.Error() != "the controller is lost" || !strings.Contains(out.String(), "\nr1 ") || !strings.Contains(out.String(), "12-12") {
		t.Errorf("%v after\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "(?)") || !strings.Contains(out.String(), "of 1 of 1 processes is not known") {
		t.Errorf("an interval of one collection:\n%s", out.String())
	}
}

// A soak without any burst, or without enough samples, is an error.
func TestSoakThatMeasuresNothing(t *testing.T) {
	f := valid()
	for want, result := range map[string]soakResult{
		"no burst was started in 1m0s: the flows of the scenario have not ended": {took: time.Minute},
		"r1: 0 samples after 0s, want at least 4: sample for longer":             {bursts: 1, histories: []*soak.History{{Process: "r1"}}},
	} {
		var out strings.Builder
		if err := f.report(&out, result, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

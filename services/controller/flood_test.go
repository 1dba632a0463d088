package controller

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
)

// The changes of a live run are limited: one above the limit is refused, and leaves the
// run as it was.
func TestChangesAreLimited(t *testing.T) {
	r := &run{service: &service{}, scenario: parse(t, []byte(pair))}
	burst := topology.Change{Verb: topology.ChangeBurst, Burst: topology.BurstSpec{From: []string{"h0"}, To: "h1", Flows: 1, Size: 1000}}
	first, err := r.apply(burst)
	if err != nil {
		t.Fatal(err)
	}
	size := r.sentBytes
	r.sentBytes = maxChanges - size
	if second, err := r.apply(burst); err != nil || r.sentBytes != maxChanges {
		t.Errorf("up to the limit: %v, %v after %v; %d bytes", err, second, first, r.sentBytes)
	}
	if _, err := r.apply(burst); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("above the limit: %v", err)
	}
	if len(r.unsent) != 2 || len(r.scenario.Changes) != 2 || r.sentBytes != maxChanges {
		t.Errorf("%d changes to send, %d in the scenario, %d bytes", len(r.unsent), len(r.scenario.Changes), r.sentBytes)
	}
}

// The limit of changes is that of 23,000 bursts of 17 senders, at instants of some seconds.
func TestBurstsWithinTheLimit(t *testing.T) {
	senders, err := topology.Names("h0..h15, r0")
	if err != nil {
		t.Fatal(err)
	}
	largest := topology.Change{At: 4 * unit.Second, Verb: topology.ChangeBurst, Burst: topology.BurstSpec{Name: "burst23000", From: senders, To: "r1", Flows: 4, Size: 16000, Class: topology.DataClass}}
	if size := proto.Size(changes.Write(&largest)); maxChanges/size < 23000 {
		t.Errorf("%d bursts of %d bytes are %d, want 23,000", maxChanges/size, size, maxChanges)
	}
}

// One write of the journal serves the changes of several calls. If it fails, none of them is
// applied, and the next change is as if they had not been requested.
func TestUnsavedChangesAreUndone(t *testing.T) {
	folder := t.TempDir()
	r := &run{service: &service{options: Options{Journal: filepath.Join(folder, "missing", "journal.yaml")}}, scenario: parse(t, []byte(pair)).Fold()}
	r.journal.bin = r.scenario.Bin
	before := r.scenario
	var answers []error
	apply := func(names ...string) {
		for _, name := range names {
			burst := topology.Change{Verb: topology.ChangeBurst, Burst: topology.BurstSpec{Name: name, From: []string{"h0"}, To: "h1", Flows: 1, Size: 1000}}
			if _, err := r.apply(burst); err != nil {
				t.Fatal(err)
			}
			r.unsaved.done = append(r.unsaved.done, func(err error) { answers = append(answers, err) })
		}
		r.commit()
	}
	apply("a", "b", "c")
	if len(answers) != 3 || status.Code(answers[0]) != codes.Unavailable || status.Code(answers[2]) != codes.Unavailable {
		t.Errorf("answers %v", answers)
	}
	if r.scenario != before || len(r.unsent) != 0 || r.sentBytes != 0 {
		t.Errorf("%d changes, %d to send, %d bytes", len(r.scenario.Changes), len(r.unsent), r.sentBytes)
	}
	if err := os.Mkdir(filepath.Join(folder, "missing"), 0o700); err != nil {
		t.Fatal(err)
	}
	apply("a", "d")
	text, err := os.ReadFile(r.service.options.Journal)
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, text)
	if n := len(s.Changes); n != 2 || s.Changes[0].Burst.Name != "a" || s.Changes[1].Burst.Name != "d" || len(r.unsent) != 2 || answers[4] != nil {
		t.Errorf("%d changes in the journal, %d to send, answers %v:\n%s", n, len(r.unsent), answers, text)
	}
}

// TRUST-10: Clients that apply bursts as fast as they can do not keep another one from its answers,
// nor fill the memory: every burst is in the journal, and every answer arrives.
func TestFloodOfBursts(t *testing.T) {
	r := started(t, Options{Journal: filepath.Join(t.TempDir(), "journal.yaml")})
	const clients, each, asked = 100, 100, 200
	floods, stop := context.WithCancel(t.Context())
	defer stop()
	begin := time.Now()
	var flood sync.WaitGroup
	for range clients {
		flood.Go(func() {
			for range each {
				q := &rackfabv1.ApplyRequest{Change: &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{From: "h0", To: "h1", Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 1000}, FlowsPerSender: 1}}}}
				if _, err := r.API().Apply(floods, q); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var took []time.Duration // figures, not conditions
	for range asked {
		at := time.Now()
		if _, err := r.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(at))
	}
	flood.Wait()
	rate := clients * each / time.Since(begin).Seconds()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 512<<20 {
		t.Errorf("%d bytes of heap", m.HeapAlloc)
	}
	out, err := r.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{})
	if n := out.GetStatus().GetChanges(); err != nil || n != clients*each {
		t.Errorf("%d changes, %v; want %d", n, err, clients*each)
	}
	slices.Sort(took)
	t.Logf("%.0f bursts/s; GetStatus: median %v, p99 %v; heap %d MiB", rate, took[asked/2], took[asked*99/100], m.HeapAlloc>>20)
}

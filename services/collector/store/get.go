package store

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// ErrAmbiguous means that an ID prefix matches several traces.
var ErrAmbiguous = errors.New("several traces begin with it")

// GetTrace returns the spans of the trace whose ID begins with the hexadecimal digits
// id. It searches the given run, or all runs from the latest if runID is empty. It
// returns ErrNotFound or ErrAmbiguous unless exactly one trace of a run matches.
func (s *Store) GetTrace(runID, id string) (*rackfabv1.GetTraceResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	runs := s.latest()
	if runID != "" {
		r, err := s.find(runID)
		if err != nil {
			return nil, err
		}
		runs = []*run{r}
	}
	for _, r := range runs {
		out, err := r.trace(id)
		if err != nil {
			return nil, fmt.Errorf("trace %s: %w", id, err)
		}
		if out != nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("trace %s: %w", id, ErrNotFound)
}

// trace returns a trace, or nil if the run does not have it.
func (r *run) trace(id string) (out *rackfabv1.GetTraceResponse, err error) {
	texts := *r.texts.Load()
	err = r.db.View(func(tx *bbolt.Tx) error {
		number, err := findTrace(tx, id)
		if err != nil || number == 0 {
			return err
		}
		t, err := readRecord(tx, number)
		if err != nil {
			return err
		}
		out = &rackfabv1.GetTraceResponse{Run: r.info.Run, TraceId: hex.EncodeToString(t.id[:]), DetailsDropped: t.dropped}
		for k, v := range withPrefix(tx.Bucket(bucketSpans), key32(number)) {
			s, err := spanOf(texts, binary.BigEndian.Uint64(k[4:]), v)
			if err != nil {
				return err
			}
			out.Spans = append(out.Spans, s)
		}
		slices.SortFunc(out.Spans, compareSpans)
		return nil
	})
	return out, err
}

// compareSpans orders spans by start, then the longer first, then by ID.
func compareSpans(a, b *rackfabv1.Span) int {
	return cmp.Or(cmp.Compare(a.GetStartPs(), b.GetStartPs()), cmp.Compare(b.GetEndPs(), a.GetEndPs()), cmp.Compare(a.GetSpanId(), b.GetSpanId()))
}

// findTrace returns the number of the trace whose ID begins with id, or 0 if there is
// none.
func findTrace(tx *bbolt.Tx, id string) (number uint32, err error) {
	prefix, err := hex.DecodeString(id[:len(id)/2*2])
	if err != nil {
		return 0, err
	}
	for k, v := range withPrefix(tx.Bucket(bucketIDs), prefix) {
		if !strings.HasPrefix(hex.EncodeToString(k), id) { // id may have an odd number of digits
			continue
		}
		if number != 0 {
			return 0, ErrAmbiguous
		}
		number = number32(v)
	}
	return number, nil
}

// Epoch returns the wall-clock time of instant 0 of a run, in ns since 1970. It reports
// false if the run is not stored.
func (s *Store) Epoch(run string) (int64, bool) {
	r, err := s.lookup(run)
	if run == "" || err != nil {
		return 0, false
	}
	return r.info.Epoch, true
}

// Runs returns the runs, the latest first and Foreign last.
func (s *Store) Runs() []*rackfabv1.CollectedRun {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*rackfabv1.CollectedRun
	for _, r := range s.latest() {
		c := r.counts.Load()
		out = append(out, &rackfabv1.CollectedRun{
			Run: r.info.Run, Scenario: r.info.Scenario, Scheme: r.info.Scheme, Seed: r.info.Seed, UnsignedSeed: uint64(r.info.Seed), EpochUnixNano: r.info.Epoch, Sampled: r.info.Sampled,
			FirstUnixNano: c.FirstNano, LastUnixNano: c.LastNano, Traces: c.Traces, Spans: c.Spans.Held, Points: c.Points.Held, Series: int64(c.NextSeries),
			StartPs: c.StartPs, EndPs: c.EndPs, SpansSampledOut: c.Spans.SampledOut, Closed: c.Closed, Nodes: c.Nodes, Flows: c.Flows,
			BinPs: c.BinPs, LastPointPs: c.LastPointPs,
		})
	}
	return out
}

package store

import (
	"bytes"
	"encoding/hex"
	"math"

	"go.etcd.io/bbolt"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// ListTraces lists traces by their root spans. The request's limit must be set.
func (s *Store) ListTraces(q *rackfabv1.ListTracesRequest) (*rackfabv1.ListTracesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, err := s.find(q.GetRun())
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.ListTracesResponse{Run: r.info.Run}
	l := newListing(r, q)
	if l == nil {
		return out, nil
	}
	err = r.db.View(func(tx *bbolt.Tx) error { return l.walk(tx, out) })
	return out, err
}

// listing is a request for traces, with names resolved to numbers.
type listing struct {
	run              *run
	q                *rackfabv1.ListTracesRequest
	texts            []string
	flow, name, node uint32 // 0 for any
	maxDuration, to  int64
	skip             int32
}

// newListing returns nil if the run does not contain one of the requested names.
func newListing(r *run, q *rackfabv1.ListTracesRequest) *listing {
	l := &listing{run: r, q: q, texts: r.known(), maxDuration: orNever(q.GetMaxDurationPs()), to: orNever(q.GetToPs()), skip: q.GetOffset()}
	for _, f := range []struct {
		to   *uint32
		text string
	}{{&l.flow, q.GetFlow()}, {&l.name, q.GetName()}, {&l.node, q.GetNode()}} {
		n, ok := r.numberOf(f.text)
		if !ok {
			return nil
		}
		*f.to = n
	}
	return l
}

func orNever(v int64) int64 {
	if v == 0 {
		return math.MaxInt64
	}
	return v
}

// walk reads the index that has the traces in the requested order, backwards from its
// end.
func (l *listing) walk(tx *bbolt.Tx, out *rackfabv1.ListTracesResponse) error {
	var prefix []byte
	index, low, high := tx.Bucket(bucketSlow), l.q.GetMinDurationPs(), l.maxDuration
	switch {
	case l.q.GetOrder() == rackfabv1.TraceOrder_TRACE_ORDER_LATEST:
		index, low, high = tx.Bucket(bucketLate), l.q.GetFromPs(), l.to-1
	case l.flow != 0:
		index, prefix = tx.Bucket(bucketFlow), key32(l.flow)
	}
	c := index.Cursor()
	for k, _ := lastBefore(c, append(bytes.Clone(prefix), slowKey(high, math.MaxUint32)...)); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Prev() {
		v, number := ordered(k)
		if v < low {
			return nil
		}
		done, err := l.take(tx, number, out)
		if done || err != nil {
			return err
		}
	}
	return nil
}

// take adds a trace if it matches, and reports whether the response is complete.
func (l *listing) take(tx *bbolt.Tx, number uint32, out *rackfabv1.ListTracesResponse) (bool, error) {
	t, err := parseRecord(tx.Bucket(bucketTraces).Get(key32(number)))
	if err != nil || !l.fits(&t) {
		return false, err
	}
	spans, fits, root, err := l.spans(tx, number, t.root)
	if err != nil || !fits {
		return false, err
	}
	if l.skip > 0 {
		l.skip--
		return false, nil
	}
	if len(out.Traces) == int(l.q.GetLimit()) {
		out.More = true
		return true, nil
	}
	one := &rackfabv1.TraceSummary{
		TraceId: hex.EncodeToString(t.id[:]), Run: l.run.info.Run, Name: text(l.texts, t.name), Node: text(l.texts, t.node), Flow: text(l.texts, t.flow),
		StartPs: t.start, DurationPs: t.duration, Spans: spans, DetailsDropped: t.dropped,
	}
	if root != nil {
		if one.Attributes, err = attributes(l.texts, root); err != nil {
			return false, err
		}
	}
	out.Traces = append(out.Traces, one)
	return false, nil
}

// fits reports whether the root span matches the request.
func (l *listing) fits(t *record) bool {
	return (l.flow == 0 || t.flow == l.flow) && (l.name == 0 || t.name == l.name) &&
		t.duration >= l.q.GetMinDurationPs() && t.duration <= l.maxDuration && t.start >= l.q.GetFromPs() && t.start < l.to
}

// spans counts the spans of a trace, reports whether they match the request, and returns
// the body of the root span.
func (l *listing) spans(tx *bbolt.Tx, number uint32, rootID uint64) (n int32, fits bool, root []byte, err error) {
	atNode, wanted := l.node == 0, l.q.GetAttributes()
	found := make([]bool, len(wanted))
	rootKey := spanKey(number, rootID)
	err = eachSpan(tx, number, func(k, v []byte) error {
		c, body, err := parseColumns(v)
		if err != nil {
			return err
		}
		n++
		atNode = atNode || c.node == l.node
		if bytes.Equal(k, rootKey) {
			root = body
		}
		if len(wanted) == 0 {
			return nil
		}
		return match(l.texts, body, wanted, found)
	})
	fits = atNode
	for _, f := range found {
		fits = fits && f
	}
	return n, fits, root, err
}

// eachSpan calls do with every span of a trace.
func eachSpan(tx *bbolt.Tx, number uint32, do func(k, v []byte) error) error {
	prefix := key32(number)
	c := tx.Bucket(bucketSpans).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := do(k, v); err != nil {
			return err
		}
	}
	return nil
}

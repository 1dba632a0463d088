package store

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// ListTraces lists traces by their root spans. The request's limit must be set.
func (s *Store) ListTraces(q *rackfabv1.ListTracesRequest) (*rackfabv1.ListTracesResponse, error) {
	out := &rackfabv1.ListTracesResponse{}
	err := s.view(q.GetRun(), func(r *run, tx *bbolt.Tx) error {
		out.Run = r.info.Run
		l := &listing{q: q, out: out, tx: tx, texts: *r.texts.Load(), maxDuration: orNever(q.GetMaxDurationPs()), to: orNever(q.GetToPs()), skip: q.GetOffset()}
		for to, text := range map[*uint32]string{&l.flow: q.GetFlow(), &l.name: q.GetName(), &l.node: q.GetNode()} {
			n := slices.Index(l.texts, text)
			if n < 0 {
				return nil // no span of the run has the name
			}
			*to = uint32(n)
		}
		return l.run()
	})
	return out, err
}

// listing is a request for traces, with names resolved to numbers.
type listing struct {
	q                *rackfabv1.ListTracesRequest
	out              *rackfabv1.ListTracesResponse
	tx               *bbolt.Tx
	texts            texts
	flow, name, node uint32 // 0 for any
	maxDuration, to  int64
	skip             int32
}

// run reads the index that has the traces in the requested order, backwards from its
// end.
func (l *listing) run() error {
	var prefix []byte
	bucket, low, high := bucketSlow, l.q.GetMinDurationPs(), l.maxDuration
	switch {
	case l.q.GetOrder() == rackfabv1.TraceOrder_TRACE_ORDER_LATEST:
		bucket, low, high = bucketLate, l.q.GetFromPs(), l.to-1
	case l.flow != 0:
		bucket, prefix = bucketFlow, key32(l.flow)
	}
	for k := range before(l.tx.Bucket(bucket), prefix, indexKey(prefix, high, math.MaxUint32)) {
		v, number := parseIndexKey(k)
		if v < low {
			return nil
		}
		if err := l.add(number); err != nil || l.out.More {
			return err
		}
	}
	return nil
}

// add adds a trace if it matches, and sets More if the response is full.
func (l *listing) add(number uint32) error {
	t, err := readRecord(l.tx, number)
	if err != nil || !l.fits(&t) {
		return err
	}
	spans, fits, root, err := l.spans(number, t.root)
	if err != nil || !fits {
		return err
	}
	if l.skip > 0 {
		l.skip--
		return nil
	}
	if len(l.out.Traces) == int(l.q.GetLimit()) {
		l.out.More = true
		return nil
	}
	one := &rackfabv1.TraceSummary{
		TraceId: hex.EncodeToString(t.id[:]), Run: l.out.Run, Name: l.texts.of(t.name), Node: l.texts.of(t.node), Flow: l.texts.of(t.flow),
		StartPs: t.start, DurationPs: t.duration, Spans: spans, DetailsDropped: t.dropped,
	}
	if root != nil {
		if one.Attributes, err = attributes(l.texts, root); err != nil {
			return err
		}
	}
	l.out.Traces = append(l.out.Traces, one)
	return nil
}

// fits reports whether the root span matches the request.
func (l *listing) fits(t *record) bool {
	return (l.flow == 0 || t.flow == l.flow) && (l.name == 0 || t.name == l.name) &&
		t.duration >= l.q.GetMinDurationPs() && t.duration <= l.maxDuration && t.start >= l.q.GetFromPs() && t.start < l.to
}

// spans counts the spans of a trace, reports whether they match the request, and returns
// the body of the root span.
func (l *listing) spans(number uint32, rootID uint64) (n int32, fits bool, root []byte, err error) {
	fits = l.node == 0
	missing := l.q.GetAttributes() // attributes that no span has had so far
	rootKey := spanKey(number, rootID)
	for k, v := range withPrefix(l.tx.Bucket(bucketSpans), key32(number)) {
		c, body, err := parseColumns(v)
		if err != nil {
			return 0, false, nil, err
		}
		n++
		fits = fits || c.node == l.node
		if bytes.Equal(k, rootKey) {
			root = body
		}
		if missing, err = unmatched(l.texts, body, missing); err != nil {
			return 0, false, nil, err
		}
	}
	return n, fits && len(missing) == 0, root, nil
}

package store

import (
	"encoding/binary"
	"errors"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span.
type Span struct {
	Trace      [16]byte
	ID, Parent uint64 // Parent is 0 for a root
	Name       string
	Node       string // node to which the span refers
	Service    string // exporter of the span
	Flow       string
	Start, End int64  // ps
	Error      string // error message, "" if the span did not fail
	// Attributes and Events hold everything else.
	Attributes []*commonpb.KeyValue
	Events     []*tracepb.Span_Event // their times are instants in ps, as unsigned numbers
}

// columns are the fields by which spans are found and listed.
type columns struct {
	parent                    uint64
	name, node, service, flow uint32
	start, duration           int64
}

// appendTo appends the encoded columns, which precede a span's body.
func (c *columns) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, c.parent)
	for _, n := range []uint32{c.name, c.node, c.service, c.flow} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return binary.AppendVarint(binary.AppendVarint(b, c.start), c.duration)
}

var errDamaged = errors.New("a value on disk is cut short")

// parseColumns decodes columns and returns the bytes that follow them.
func parseColumns(b []byte) (c columns, body []byte, err error) {
	if len(b) < 8 {
		return c, nil, errDamaged
	}
	c.parent, b = binary.BigEndian.Uint64(b), b[8:]
	for _, to := range []*uint32{&c.name, &c.node, &c.service, &c.flow} {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return c, nil, errDamaged
		}
		*to, b = uint32(v), b[n:]
	}
	for _, to := range []*int64{&c.start, &c.duration} {
		v, n := binary.Varint(b)
		if n <= 0 {
			return c, nil, errDamaged
		}
		*to, b = v, b[n:]
	}
	return c, b, nil
}

// span stores a span and reports whether it is new.
func (w *writer) span(s *Span) (bool, error) {
	number, err := w.trace(s.Trace)
	if err != nil {
		return false, err
	}
	key := spanKey(number, s.ID)
	if w.bucket(bucketSpans).Get(key) != nil {
		return false, nil
	}
	c := columns{parent: s.Parent, start: s.Start, duration: s.End - s.Start}
	for _, f := range []struct {
		to   *uint32
		text string
	}{{&c.name, s.Name}, {&c.node, s.Node}, {&c.service, s.Service}, {&c.flow, s.Flow}} {
		if *f.to, err = w.column(f.text); err != nil {
			return false, err
		}
	}
	body, err := w.body(s)
	if err != nil {
		return false, err
	}
	if err := w.bucket(bucketSpans).Put(key, append(c.appendTo(make([]byte, 0, 40+len(body))), body...)); err != nil {
		return false, err
	}
	w.counts.covers(s)
	switch {
	case s.Parent == 0:
		err = w.setRoot(number, s.ID, &c, s.mark())
	case w.info.Run == Foreign: // traces of nodes receive their root sooner or later
		w.rootless[number] = true
	}
	return true, err
}

// unfinished is the value of the index entries of a root span that ended early; others have none.
var unfinished = []byte{1}

// mark returns the value of the span's index entries if it is a root.
func (s *Span) mark() []byte {
	for _, a := range s.Attributes {
		if k := a.GetKey(); (k == "rackfab.open" || k == "rackfab.cut") && a.GetValue().GetBoolValue() {
			return unfinished
		}
	}
	return nil
}

// covers extends the time range, the nodes and the flows of the run to a span.
func (c *counts) covers(s *Span) {
	if c.Spans.Held == 0 && c.StartPs == 0 && c.EndPs == 0 {
		c.StartPs = s.Start
	}
	c.StartPs, c.EndPs = min(c.StartPs, s.Start), max(c.EndPs, s.End)
	c.seen(s.Node, s.Flow)
}

// body encodes a span's attributes, events and error as OTLP messages with names by
// number.
func (w *writer) body(s *Span) (_ []byte, err error) {
	m := tracepb.Span{Events: make([]*tracepb.Span_Event, len(s.Events))}
	if s.Error != "" {
		m.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Error}
	}
	if m.Attributes, err = w.interned(s.Attributes); err != nil {
		return nil, err
	}
	for i, e := range s.Events {
		m.Events[i] = &tracepb.Span_Event{TimeUnixNano: e.GetTimeUnixNano(), Name: e.GetName(), DroppedAttributesCount: e.GetDroppedAttributesCount()}
		if m.Events[i].Attributes, err = w.interned(e.GetAttributes()); err != nil {
			return nil, err
		}
	}
	w.buffer, err = proto.MarshalOptions{}.MarshalAppend(w.buffer[:0], &m)
	return w.buffer, err
}

// interned returns attributes with keys and texts replaced by their numbers.
func (w *writer) interned(list []*commonpb.KeyValue) ([]*commonpb.KeyValue, error) {
	out := make([]*commonpb.KeyValue, len(list))
	for i, a := range list {
		to := &commonpb.KeyValue{Key: a.GetKey(), Value: a.GetValue()}
		out[i] = to
		n, ok, err := w.name(to.Key)
		if err != nil {
			return nil, err
		}
		if ok && n > 0 {
			to.Key, to.KeyStrindex = "", int32(n)
		}
		t, isText := to.GetValue().GetValue().(*commonpb.AnyValue_StringValue)
		if !isText {
			continue
		}
		if n, ok, err = w.name(t.StringValue); err != nil {
			return nil, err
		}
		if ok {
			to.Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: int32(n)}}
		}
	}
	return out, nil
}

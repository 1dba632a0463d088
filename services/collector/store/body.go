package store

import (
	"fmt"
	"slices"
	"strconv"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// unmarshalBody parses the body of a span: everything that is not in its columns.
func unmarshalBody(body []byte) (*tracepb.Span, error) {
	m := &tracepb.Span{}
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("span: %w", err)
	}
	return m, nil
}

// attributes returns the attributes in a span's body.
func attributes(texts texts, body []byte) ([]*rackfabv1.Attribute, error) {
	m, err := unmarshalBody(body)
	if err != nil {
		return nil, err
	}
	return texts.attributes(m.GetAttributes()), nil
}

// Attributes converts received OTLP attributes to those of the API.
func Attributes(list []*commonpb.KeyValue) []*rackfabv1.Attribute { return texts(nil).attributes(list) }

// attributes converts OTLP attributes with names by number to those of the API.
func (t texts) attributes(list []*commonpb.KeyValue) []*rackfabv1.Attribute {
	out := make([]*rackfabv1.Attribute, 0, len(list))
	for _, kv := range list {
		out = append(out, t.attribute(kv))
	}
	return out
}

func (t texts) attribute(kv *commonpb.KeyValue) *rackfabv1.Attribute {
	a := &rackfabv1.Attribute{Key: kv.GetKey()}
	if a.Key == "" {
		a.Key = t.of(uint32(kv.GetKeyStrindex()))
	}
	switch v := kv.GetValue().GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		a.Value = &rackfabv1.Attribute_Text{Text: v.StringValue}
	case *commonpb.AnyValue_StringValueStrindex:
		a.Value = &rackfabv1.Attribute_Text{Text: t.of(uint32(v.StringValueStrindex))}
	case *commonpb.AnyValue_IntValue:
		a.Value = &rackfabv1.Attribute_Number{Number: v.IntValue}
	case *commonpb.AnyValue_DoubleValue:
		a.Value = &rackfabv1.Attribute_Real{Real: v.DoubleValue}
	case *commonpb.AnyValue_BoolValue:
		a.Value = &rackfabv1.Attribute_Flag{Flag: v.BoolValue}
	default:
		json, err := protojson.Marshal(kv.GetValue())
		if err != nil {
			json = []byte(err.Error())
		}
		a.Value = &rackfabv1.Attribute_Text{Text: string(json)}
	}
	return a
}

// AttributeText returns the value of an attribute as text: "cnp", "42", "true".
func AttributeText(a *rackfabv1.Attribute) string {
	switch v := a.GetValue().(type) {
	case *rackfabv1.Attribute_Text:
		return v.Text
	case *rackfabv1.Attribute_Number:
		return strconv.FormatInt(v.Number, 10)
	case *rackfabv1.Attribute_Real:
		return strconv.FormatFloat(v.Real, 'g', -1, 64)
	case *rackfabv1.Attribute_Flag:
		return strconv.FormatBool(v.Flag)
	}
	return ""
}

// unmatched returns the wanted attributes that the span in body does not have.
func unmatched(texts texts, body []byte, wanted []*rackfabv1.AttributeMatch) (rest []*rackfabv1.AttributeMatch, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	have, err := attributes(texts, body)
	for _, w := range wanted {
		if !slices.ContainsFunc(have, func(a *rackfabv1.Attribute) bool { return a.GetKey() == w.GetKey() && AttributeText(a) == w.GetValue() }) {
			rest = append(rest, w)
		}
	}
	return rest, err
}

// spanOf converts a stored span to the API's form.
func spanOf(texts texts, id uint64, value []byte) (*rackfabv1.Span, error) {
	c, body, err := parseColumns(value)
	if err != nil {
		return nil, err
	}
	m, err := unmarshalBody(body)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.Span{
		SpanId: fmt.Sprintf("%016x", id), Name: texts.of(c.name), Node: texts.of(c.node), Service: texts.of(c.service), Flow: texts.of(c.flow),
		StartPs: c.start, EndPs: c.start + c.duration, Attributes: texts.attributes(m.GetAttributes()), Error: m.GetStatus().GetMessage(),
	}
	if c.parent != 0 {
		out.ParentSpanId = fmt.Sprintf("%016x", c.parent)
	}
	for _, e := range m.GetEvents() {
		out.Events = append(out.Events, &rackfabv1.SpanEvent{
			Name: e.GetName(), AtPs: int64(e.GetTimeUnixNano()), Attributes: texts.attributes(e.GetAttributes()),
		})
	}
	return out, nil
}

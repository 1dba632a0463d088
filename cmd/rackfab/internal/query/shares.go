package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// sharesText returns how a message's time divides, largest share first: "paused 2.1ms,
// queued 600us, on the wire 300us". It returns "" if the spans do not determine that.
func sharesText(spans []*rackfabv1.Span) string {
	list := make([]tracing.Span, len(spans))
	for i, s := range spans {
		list[i] = fabricSpan(s)
	}
	s, err := tracing.Divide(list)
	if err != nil {
		return ""
	}
	type share struct {
		name string
		took unit.Time
	}
	shares := []share{
		{"paused", s.Paused},
		{"queued", s.Queued},
		{"on the wire", s.Wire},
		{"waiting to be sent", s.Waited},
		{"at the target", s.Target},
		{"taken in", s.Intake},
	}
	slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(b.took, a.took) })
	var parts []string
	for _, p := range shares {
		if p.took > 0 {
			parts = append(parts, p.name+" "+p.took.String())
		}
	}
	return strings.Join(parts, ", ")
}

// partsByName maps span names to the parts of a message. Any other name is that of the
// root span.
var partsByName = map[string]tracing.Part{
	"data": tracing.Sender, "request": tracing.Sender, "switch": tracing.Switch, "wire": tracing.Wire,
	"receive": tracing.Target, "respond": tracing.Target, "notify": tracing.Notify, "intake": tracing.Intake,
}

// fabricSpan converts the fields of a span that Divide needs.
func fabricSpan(s *rackfabv1.Span) tracing.Span {
	out := tracing.Span{
		Part: partsByName[s.GetName()], Name: s.GetName(), Node: s.GetNode(), Start: unit.Time(s.GetStartPs()), End: unit.Time(s.GetEndPs()),
		In: unit.Never, From: -1, To: -1, Failure: s.GetError(),
	}
	for _, a := range s.GetAttributes() {
		switch n := a.GetNumber(); a.GetKey() {
		case "rackfab.in_ps":
			out.In = unit.Time(n)
		case "rackfab.port.out":
			out.To = int(n)
		case "rackfab.peer":
			out.Peer = store.AttributeText(a)
		case "rackfab.direction":
			out.Back = store.AttributeText(a) == "back"
		case "rackfab.completed_by":
			out.By = 1 // completed by another message: Message is 0
		case "rackfab.open":
			out.Open = true
		case "rackfab.cut":
			out.Cut = true
		}
	}
	for _, e := range s.GetEvents() {
		switch e.GetName() {
		case "pause":
			out.Events = append(out.Events, tracing.Event{Event: fabric.Event{Kind: fabric.Paused}, At: unit.Time(e.GetAtPs())})
		case "resume":
			paused := unit.Time(numberOf(e.GetAttributes(), "rackfab.paused_ps"))
			out.Events = append(out.Events, tracing.Event{Event: fabric.NewResumed(paused), At: unit.Time(e.GetAtPs())})
		}
	}
	return out
}

// numberOf returns the number of an attribute, or 0 if the attribute is absent.
func numberOf(list []*rackfabv1.Attribute, key string) int64 {
	for _, a := range list {
		if a.GetKey() == key {
			return a.GetNumber()
		}
	}
	return 0
}

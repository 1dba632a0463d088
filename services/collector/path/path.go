// Package path converts the stored spans of a message to those of package tracing, which
// computes the critical path of the message. It queries no store.
package path

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// partsByName maps span names to the parts of a message. Any other name is that of the
// root span.
var partsByName = map[string]tracing.Part{
	"data": tracing.Sender, "request": tracing.Sender, "switch": tracing.Switch, "wire": tracing.Wire,
	"receive": tracing.Target, "respond": tracing.Target, "notify": tracing.Notify, "intake": tracing.Intake,
}

// Spans converts the fields that tracing.Critical and tracing.Divide need.
func Spans(list []*rackfabv1.Span) []tracing.Span {
	out := make([]tracing.Span, len(list))
	for i, s := range list {
		out[i] = span(s)
	}
	return out
}

func span(s *rackfabv1.Span) tracing.Span {
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
			out.Peer = a.GetText()
		case "rackfab.direction":
			out.Back = a.GetText() == "back"
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
			out.Events = append(out.Events, tracing.Event{Event: fabric.NewResumed(pausedFor(e)), At: unit.Time(e.GetAtPs())})
		}
	}
	return out
}

// pausedFor returns how long a pause lasted, according to its end.
func pausedFor(e *rackfabv1.SpanEvent) unit.Time {
	for _, a := range e.GetAttributes() {
		if a.GetKey() == "rackfab.paused_ps" {
			return unit.Time(a.GetNumber())
		}
	}
	return 0
}

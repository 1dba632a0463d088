package page

import (
	"context"
	"net/http"

	"github.com/rackfab/rackfab/fabric/tracing"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/path"
)

// pathLeg is the JSON of a segment of a message's critical path. Times are in
// picoseconds.
type pathLeg struct {
	Part   string `json:"part"`
	Node   string `json:"node"` // of a wire "h0->s0"
	Start  int64  `json:"start"`
	Took   int64  `json:"took"`
	Paused int64  `json:"paused"`
}

// legParts names the parts of a critical path.
var legParts = map[tracing.Part]string{
	tracing.Sender: "sender", tracing.Switch: "switch", tracing.Wire: "wire", tracing.Target: "target", tracing.Intake: "intake",
}

// path sends the critical path of a stored message: legs, or the reason why there are
// none.
func (p *Page) path(w http.ResponseWriter, r *http.Request) {
	if p.options.Collector == nil {
		sendError(w, http.StatusNotFound, "this page has no collector")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callLimit)
	defer cancel()
	t, err := p.options.Collector.GetTrace(ctx, &rackfabv1.GetTraceRequest{Run: r.PathValue("run"), TraceId: r.PathValue("trace")})
	if err != nil {
		fail(w, err)
		return
	}
	out := struct {
		Legs   []pathLeg `json:"legs"`
		Reason string    `json:"reason"`
	}{Legs: []pathLeg{}}
	legs, err := tracing.Critical(path.Spans(t.GetSpans()))
	if err != nil {
		out.Reason = err.Error()
		legs = nil
	}
	for _, l := range legs {
		out.Legs = append(out.Legs, pathLeg{legParts[l.Part], l.Node, int64(l.Start), int64(l.End - l.Start), int64(l.Paused)})
	}
	send(w, http.StatusOK, marshal(out))
}

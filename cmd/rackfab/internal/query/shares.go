package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/path"
)

// sharesText returns how a message's time divides, largest share first: "paused 2.1ms,
// queued 600us, on the wire 300us". It returns "" if the spans do not determine that.
func sharesText(spans []*rackfabv1.Span) string {
	s, err := tracing.Divide(path.Spans(spans))
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

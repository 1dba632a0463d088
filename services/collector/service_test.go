package collector

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

func TestInvalidRequests(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	big := write(1, 0)
	big.Name = strings.Repeat("x", MaxMessage)
	if _, err := c.traces.Export(t.Context(), request(node("h0"), big)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message that is too large: %v", err)
	}
	if _, err := c.traces.Export(t.Context(), request(node("h0"), write(1, 0))); err != nil {
		t.Fatal(err)
	}
	for field, call := range map[string]func() error{
		"limit": func() error {
			_, err := c.api.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Limit: maxTraces + 1})
			return err
		},
		"min_duration_ps": func() error {
			_, err := c.api.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{MinDurationPs: -1})
			return err
		},
		"trace_id": func() error {
			_, err := c.api.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: "xyz"})
			return err
		},
		"select.metric": func() error {
			_, err := c.api.QuerySeries(t.Context(), &rackfabv1.QuerySeriesRequest{})
			return err
		},
		"group": func() error {
			_, err := c.api.GetPercentiles(t.Context(), &rackfabv1.GetPercentilesRequest{Group: 99})
			return err
		},
	} {
		if v := serve.Violations(call()); v[field] == "" {
			t.Errorf("%s: %v", field, v)
		}
	}
	if _, err := c.api.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Run: "b"}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

package collector

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Maximum and default sizes of responses.
const (
	// MaxPoints is the maximum number of points in one response.
	MaxPoints     = 1_000_000
	defaultPoints = 200_000

	maxTraces, defaultTraces = 10_000, 20
)

// service implements CollectorService.
type service struct {
	rackfabv1.UnimplementedCollectorServiceServer
	store     *store.Store
	collector *collector
	readOnly  bool
}

// statusOf converts an error of the store to a gRPC status.
func statusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, store.ErrAmbiguous):
		return serve.Invalid("trace_id", "%v: give more digits", err)
	}
	return status.Error(codes.Internal, err.Error())
}

// ListRuns lists the stored runs, the latest first.
func (s *service) ListRuns(context.Context, *rackfabv1.ListRunsRequest) (*rackfabv1.ListRunsResponse, error) {
	return &rackfabv1.ListRunsResponse{Runs: s.store.Runs()}, nil
}

// CloseRun closes a run that will receive no more data.
func (s *service) CloseRun(_ context.Context, q *rackfabv1.CloseRunRequest) (*rackfabv1.CloseRunResponse, error) {
	if s.readOnly {
		return nil, status.Error(codes.FailedPrecondition, "no collector uses this data")
	}
	n, err := s.store.CloseRun(q.GetRun())
	if err != nil {
		return nil, statusOf(err)
	}
	return &rackfabv1.CloseRunResponse{SpansSampledOut: n}, nil
}

// ListTraces lists traces by their root spans.
func (s *service) ListTraces(_ context.Context, q *rackfabv1.ListTracesRequest) (*rackfabv1.ListTracesResponse, error) {
	for _, f := range []struct {
		field string
		value int64
	}{
		{"min_duration_ps", q.GetMinDurationPs()}, {"max_duration_ps", q.GetMaxDurationPs()}, {"limit", int64(q.GetLimit())}, {"offset", int64(q.GetOffset())},
	} {
		if f.value < 0 {
			return nil, serve.Invalid(f.field, "%d: want 0 or more", f.value)
		}
	}
	if q.GetLimit() > maxTraces {
		return nil, serve.Invalid("limit", "%d: want at most %d", q.GetLimit(), maxTraces)
	}
	if q.GetLimit() == 0 {
		q.Limit = defaultTraces
	}
	out, err := s.store.ListTraces(q)
	return out, statusOf(err)
}

// GetTrace returns every span of a trace.
func (s *service) GetTrace(_ context.Context, q *rackfabv1.GetTraceRequest) (*rackfabv1.GetTraceResponse, error) {
	id := strings.ToLower(q.GetTraceId())
	if id == "" || len(id) > 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, serve.Invalid("trace_id", "%q: want 1 to 32 hexadecimal digits", q.GetTraceId())
	}
	out, err := s.store.GetTrace(q.GetRun(), id)
	return out, statusOf(err)
}

// GetPercentiles returns percentiles of the durations of root spans.
func (s *service) GetPercentiles(_ context.Context, q *rackfabv1.GetPercentilesRequest) (*rackfabv1.GetPercentilesResponse, error) {
	if _, ok := rackfabv1.PercentileGroup_name[int32(q.GetGroup())]; !ok {
		return nil, serve.Invalid("group", "%d: want a PercentileGroup", q.GetGroup())
	}
	out, err := s.store.GetPercentiles(q)
	return out, statusOf(err)
}

// ListSeries lists the series of a run.
func (s *service) ListSeries(_ context.Context, q *rackfabv1.ListSeriesRequest) (*rackfabv1.ListSeriesResponse, error) {
	out, err := s.store.ListSeries(q.GetSelect())
	return out, statusOf(err)
}

// QuerySeries returns the points of series.
func (s *service) QuerySeries(_ context.Context, q *rackfabv1.QuerySeriesRequest) (*rackfabv1.QuerySeriesResponse, error) {
	_, known := rackfabv1.Fold_name[int32(q.GetFold())]
	switch {
	case q.GetSelect().GetMetric() == "":
		return nil, serve.Invalid("select.metric", "want the name of a metric, such as rackfab.port.queue")
	case q.GetStepPs() < 0:
		return nil, serve.Invalid("step_ps", "%d: want 0 or more", q.GetStepPs())
	case !known:
		return nil, serve.Invalid("fold", "%d: want a Fold", q.GetFold())
	case q.GetLimit() < 0 || q.GetLimit() > MaxPoints:
		return nil, serve.Invalid("limit", "%d: want 0 to %d", q.GetLimit(), MaxPoints)
	}
	if q.GetLimit() == 0 {
		q.Limit = defaultPoints
	}
	out, err := s.store.QuerySeries(q)
	return out, statusOf(err)
}

// Follow streams points and root spans as they are stored.
func (s *service) Follow(q *rackfabv1.FollowRequest, stream grpc.ServerStreamingServer[rackfabv1.FollowResponse]) error {
	if s.readOnly {
		return status.Error(codes.FailedPrecondition, "no collector uses this data")
	}
	return s.collector.follow.serve(stream.Context(), q, stream.Send)
}

// GetCounters returns the counts of received, stored, refused and dropped items.
func (s *service) GetCounters(context.Context, *rackfabv1.GetCountersRequest) (*rackfabv1.GetCountersResponse, error) {
	c, t := s.collector, s.store.Totals()
	_, damaged := s.store.Damaged()
	out := &rackfabv1.GetCountersResponse{
		Spans: signal(t.Spans), Points: signal(t.Points), RunsEvicted: t.Evicted, RunsDamaged: int64(damaged),
		RefusedRequests: c.queue.refused.Load(), QueuedRequests: int64(len(c.queue.jobs)), QueueLimit: queueRequests,
		ReceivedBytes: c.received.Load(), StoredBytes: s.store.Size(), MaxBytes: c.maxSize, FollowMissed: c.follow.missed.Load(),
	}
	if f := c.forward; f != nil {
		out.ForwardedRequests, out.ForwardDroppedRequests, out.ForwardDroppedItems = f.sent.Load(), f.dropped.Load(), f.droppedItems.Load()
	}
	return out, nil
}

func signal(c store.Counts) *rackfabv1.SignalCounters {
	return &rackfabv1.SignalCounters{
		Received: c.Received, Stored: c.Stored, Duplicates: c.Duplicates, Rejected: c.Rejected,
		Held: c.Held, Evicted: c.Evicted, SampledOut: c.SampledOut,
	}
}

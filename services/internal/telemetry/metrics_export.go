package telemetry

import (
	"context"
	"math"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
)

// Limits of Points.
const (
	DefaultQueue = 64 << 10 // points: 2 MiB
	requestLimit = 4096     // points in one request: below 1 MiB
)

// Points exports points to a collector by OTLP, from its own goroutine. Its queue is
// bounded: Hand never blocks, and points that do not fit are dropped and counted.
//
// The metrics API of OpenTelemetry uses wall-clock timestamps, and its SDK's exporter
// only logs rejected points. Points therefore builds the protocol's messages itself,
// with fabric time and exact counts.
type Points struct{ *exporter[handed] }

// handed is a batch and its source.
type handed struct {
	from *Source
	Batch
}

// NewPoints returns an exporter on conn, which the caller owns, with a queue of limit
// points. Finish ends it.
func NewPoints(conn grpc.ClientConnInterface, limit int) *Points {
	client := collector.NewMetricsServiceClient(conn)
	return &Points{newExporter(limit, request[handed]{
		maxCount: requestLimit, maxBytes: math.MaxInt,
		size: func(h handed) (count, bytes int) { return len(h.Points), 0 },
		send: func(ctx context.Context, batch []handed) (rejected int64, err error) {
			answer, err := client.Export(ctx, requestOf(batch))
			return answer.GetPartialSuccess().GetRejectedDataPoints(), err
		},
	})}
}

// Hand queues a batch. It never blocks.
func (p *Points) Hand(from *Source, b Batch) { p.add(handed{from, b}) }

// requestOf encodes batches by source.
func requestOf(batches []handed) *collector.ExportMetricsServiceRequest {
	var order []*Source
	by := map[*Source][]Batch{}
	for _, h := range batches {
		if by[h.from] == nil {
			order = append(order, h.from)
		}
		by[h.from] = append(by[h.from], h.Batch)
	}
	out := &collector.ExportMetricsServiceRequest{}
	for _, from := range order {
		out.ResourceMetrics = append(out.ResourceMetrics, from.encode(by[from]))
	}
	return out
}

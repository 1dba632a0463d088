package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// fake is a connection to a collector that gives preset responses, call by call; the
// last one repeats.
type fake struct {
	answers  []func(context.Context, *collector.ExportMetricsServiceResponse) error
	requests []*collector.ExportMetricsServiceRequest
}

func (f *fake) Invoke(ctx context.Context, _ string, q, a any, _ ...grpc.CallOption) error {
	answer := f.answers[min(len(f.requests), len(f.answers)-1)]
	f.requests = append(f.requests, q.(*collector.ExportMetricsServiceRequest))
	return answer(ctx, a.(*collector.ExportMetricsServiceResponse))
}

func (f *fake) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.ErrUnsupported
}

func fine(context.Context, *collector.ExportMetricsServiceResponse) error { return nil }

func fails(code codes.Code) func(context.Context, *collector.ExportMetricsServiceResponse) error {
	return func(context.Context, *collector.ExportMetricsServiceResponse) error { return status.Error(code, "no") }
}

func silent(ctx context.Context, _ *collector.ExportMetricsServiceResponse) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

func partial(_ context.Context, a *collector.ExportMetricsServiceResponse) error {
	a.PartialSuccess = &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 3, ErrorMessage: "too old"}
	return nil
}

func later(_ context.Context, _ *collector.ExportMetricsServiceResponse) error {
	s, _ := status.New(codes.ResourceExhausted, "full").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(30 * time.Second)})
	return s.Err()
}

func batch(points int) telemetry.Batch {
	b := telemetry.Batch{Series: []telemetry.Series{{Metric: telemetry.PortQueue, Port: 2, Peer: "s1"}}}
	for i := range points {
		at := unit.Time(i+1)*50*unit.Microsecond - 1
		b.Points = append(b.Points, telemetry.Point{From: at - 50*unit.Microsecond + 1, At: at, Value: int64(i)})
	}
	return b
}

var source = telemetry.Identity{Run: "r", Scenario: "pair", Scheme: "pcn", Seed: 7, Node: "s0", Kind: "switch", Epoch: telemetry.Epoch, Bin: 50 * unit.Microsecond, Sampled: "all messages"}

// Whatever the collector does, every point is sent or dropped for a counted reason, and
// a flush never exceeds its time limit.
func TestFailingPointCollectors(t *testing.T) {
	type answers = []func(context.Context, *collector.ExportMetricsServiceResponse) error
	for name, test := range map[string]struct {
		answers answers
		want    telemetry.Counts
		calls   int
		least   time.Duration // of the flush
		most    time.Duration
	}{
		"takes all":        {answers{fine}, telemetry.Counts{Made: 20, Sent: 20}, 1, 0, 0},
		"rejects some":     {answers{partial}, telemetry.Counts{Made: 20, Sent: 17, Dropped: map[string]int64{"rejected": 3}}, 1, 0, 0},
		"refuses":          {answers{fails(codes.Unimplemented)}, telemetry.Counts{Made: 20, Dropped: map[string]int64{"refused": 20}}, 1, 0, 0},
		"permanently full": {answers{fails(codes.ResourceExhausted)}, telemetry.Counts{Made: 20, Dropped: map[string]int64{"refused": 20}}, 1, 0, 0},
		"not there":        {answers{fails(codes.Unavailable)}, telemetry.Counts{Made: 20, Dropped: map[string]int64{"unreachable": 20}}, 2, 0, 50 * time.Millisecond},
		"busy once":        {answers{fails(codes.Unavailable), fine}, telemetry.Counts{Made: 20, Sent: 20}, 2, 0, 50 * time.Millisecond},
		"full for 30 s": {
			answers{later, fine}, telemetry.Counts{Made: 20, Dropped: map[string]int64{"unreachable": 20}}, 1, 2 * time.Second, 2 * time.Second,
		},
		"is silent": {answers{silent}, telemetry.Counts{Made: 20, Dropped: map[string]int64{"unreachable": 20}}, 1, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answers: test.answers}
				p := telemetry.NewPoints(f, 1000)
				from := telemetry.NewSource(source)
				p.Hand(from, batch(15))
				p.Hand(from, batch(5))
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				before := time.Now()
				p.Finish(ctx)
				took := time.Since(before)
				got := p.Counts()
				if test.want.Dropped == nil {
					test.want.Dropped = map[string]int64{}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
				if took < test.least || took > test.most {
					t.Errorf("the run was delayed by %v, want %v to %v", took, test.least, test.most)
				}
				if got.Made != got.Sent+sumOf(got.Dropped) || len(f.requests) != test.calls {
					t.Errorf("after the end %+v, %d calls", got, len(f.requests))
				}
			})
		})
	}
}

// A collector that recovers, or asks for a pause, receives all points that fit into the
// queue.
func TestCollectorRecovers(t *testing.T) {
	for name, bad := range map[string]func(context.Context, *collector.ExportMetricsServiceResponse) error{
		"killed": fails(codes.Unavailable), "full": later, "slow": silent,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answers: []func(context.Context, *collector.ExportMetricsServiceResponse) error{bad, bad, bad, fine}}
				p := telemetry.NewPoints(f, 100)
				from := telemetry.NewSource(source)
				for range 6 {
					p.Hand(from, batch(20))
					synctest.Wait()
				}
				<-time.After(2 * time.Minute) // in the synctest bubble, no real time passes
				synctest.Wait()
				want := telemetry.Counts{Made: 120, Sent: 100, Dropped: map[string]int64{"queue": 20}}
				if diff := cmp.Diff(want, p.Counts()); diff != "" {
					t.Error(diff)
				}
				p.Finish(t.Context())
			})
		})
	}
}

func sumOf(m map[string]int64) (sum int64) {
	for _, v := range m {
		sum += v
	}
	return sum
}

// A seed that no signed integer has is a decimal text.
func TestSeedOfARequest(t *testing.T) {
	for seed, want := range map[uint64]string{7: `7 ""`, 1<<63 - 1: `9223372036854775807 ""`, 1 << 63: `0 "9223372036854775808"`, 1<<64 - 1: `0 "18446744073709551615"`} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: []func(context.Context, *collector.ExportMetricsServiceResponse) error{fine}}
			p, id := telemetry.NewPoints(f, 1000), source
			id.Seed = seed
			p.Hand(telemetry.NewSource(id), batch(1))
			p.Finish(t.Context())
			list := f.requests[0].GetResourceMetrics()[0].GetResource().GetAttributes()
			i := slices.IndexFunc(list, func(a *common.KeyValue) bool { return a.GetKey() == "rackfab.seed" })
			if got := fmt.Sprintf("%d %q", list[i].GetValue().GetIntValue(), list[i].GetValue().GetStringValue()); got != want {
				t.Errorf("seed %d: %s, want %s", seed, got, want)
			}
		})
	}
}

// A request contains the resource and the points by metric, in fabric time.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: []func(context.Context, *collector.ExportMetricsServiceResponse) error{fine}}
		p := telemetry.NewPoints(f, 1000)
		b := batch(1)
		b.Series = append(b.Series, telemetry.Series{Metric: telemetry.PortDrops, Port: 0, Peer: "h1", Reason: "buffer"})
		b.Points = append(b.Points, telemetry.Point{From: 100 * unit.Microsecond, At: 150*unit.Microsecond - 1, Value: 4, Series: 1})
		p.Hand(telemetry.NewSource(source), b)
		p.Finish(t.Context())
		rm := f.requests[0].GetResourceMetrics()[0]
		attributes := map[string]string{}
		for _, a := range rm.GetResource().GetAttributes() {
			attributes[a.GetKey()] = fmt.Sprint(a.GetValue().GetStringValue(), a.GetValue().GetIntValue())
		}
		want := map[string]string{
			"service.name": "rackfab-switch0", "service.instance.id": "s00", "rackfab.run": "r0", "rackfab.scenario": "pair0",
			"rackfab.scheme": "pcn0", "rackfab.seed": "7", "rackfab.node": "s00",
			"rackfab.epoch_unix_nano": "1577836800000000000", "rackfab.bin_ps": "50000000", "rackfab.sampled": "all messages0",
		}
		if diff := cmp.Diff(want, attributes); diff != "" {
			t.Error(diff)
		}
		var got []string
		for _, m := range rm.GetScopeMetrics()[0].GetMetrics() {
			var list []*otlp.NumberDataPoint
			if list = m.GetGauge().GetDataPoints(); list == nil {
				list = m.GetSum().GetDataPoints()
			}
			for _, d := range list {
				line := fmt.Sprint(m.GetName(), " ", m.GetUnit(), " ", m.GetSum().GetAggregationTemporality(), " ", d.GetStartTimeUnixNano(), " ", d.GetTimeUnixNano(), " ", d.GetAsInt())
				for _, a := range d.GetAttributes() {
					line += fmt.Sprint(" ", a.GetKey(), "=", a.GetValue().GetStringValue(), a.GetValue().GetIntValue())
				}
				got = append(got, line)
			}
		}
		if diff := cmp.Diff([]string{
			"rackfab.port.queue By AGGREGATION_TEMPORALITY_UNSPECIFIED 0 1577836800000049999 0 rackfab.port=2 rackfab.peer=s10",
			"rackfab.port.drops {frame} AGGREGATION_TEMPORALITY_DELTA 1577836800000100000 1577836800000149999 4 rackfab.port=0 rackfab.peer=h10 rackfab.reason=buffer0",
		}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// marshaller encodes a request as a connection does.
type marshaller struct{ fake }

func (*marshaller) Invoke(_ context.Context, _ string, q, _ any, _ ...grpc.CallOption) error {
	_, err := proto.Marshal(q.(proto.Message))
	return err
}

// BenchmarkPoints measures the cost of a point, from the note to the encoded request.
func BenchmarkPoints(b *testing.B) {
	p := telemetry.NewPoints(&marshaller{}, 1<<30)
	s := scenario(b, "pcn-16to2")
	from := telemetry.NewSource(source)
	m := telemetry.NewMeter(s, len(s.Nodes)-1, fabric.Sampling{Every: s.Bin, End: s.Duration}, func(b telemetry.Batch) { p.Hand(from, b) })
	notes := make([]fabric.Note, 17)
	b.ReportAllocs()
	for i := range b.N {
		at := unit.Time(i+1)*s.Bin - 1
		for k := range notes {
			notes[k] = fabric.Note{Event: fabric.NewQueueSampled(1000, unit.Bytes(i)), At: at, Port: fabric.Port(k)}
		}
		m.Observe(notes)
	}
	p.Finish(b.Context())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(34*b.N), "ns/point")
}

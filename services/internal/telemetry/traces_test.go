package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// sink is an OTLP receiver that records requests; answer may refuse a request or reject
// some of its spans.
type sink struct {
	collector.UnimplementedTraceServiceServer
	answer func(request int, spans int64) (rejected int64, err error)

	mu       sync.Mutex
	requests int
	taken    []*otlp.ResourceSpans
	spans    int64
}

func (s *sink) Export(_ context.Context, q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for _, r := range q.GetResourceSpans() {
		for _, l := range r.GetScopeSpans() {
			n += int64(len(l.GetSpans()))
		}
	}
	out, rejected := &collector.ExportTraceServiceResponse{}, int64(0)
	s.requests++
	if s.answer != nil {
		var err error
		if rejected, err = s.answer(s.requests, n); err != nil {
			return nil, err
		}
		out.PartialSuccess = &collector.ExportTracePartialSuccess{RejectedSpans: rejected}
	}
	s.taken = append(s.taken, q.GetResourceSpans()...)
	s.spans += n - rejected
	return out, nil
}

// serve starts a server for the sink at address, "" for a free port. It returns the
// server's address and a function that stops it.
func (s *sink) serve(t *testing.T, address string) (string, func()) {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return l.Addr().String(), sync.OnceFunc(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// lines returns all spans as sorted lines, without wall-clock times.
func (s *sink) lines() (list []string) {
	for _, r := range s.taken {
		where := spell(r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeSpans() {
			for _, x := range scope.GetSpans() {
				line := fmt.Sprintf("%x %x<-%x %s %s %d-%d %s %s [%s]", x.GetTraceId(), x.GetSpanId(), x.GetParentSpanId(), x.GetName(), x.GetKind(),
					x.GetStartTimeUnixNano(), x.GetEndTimeUnixNano(), x.GetStatus(), spell(x.GetAttributes()), where)
				for _, e := range x.GetEvents() {
					line += fmt.Sprintf("\n  %s %d %s", e.GetName(), e.GetTimeUnixNano(), spell(e.GetAttributes()))
				}
				list = append(list, line)
			}
		}
	}
	slices.Sort(list)
	return list
}

func spell(list []*common.KeyValue) string {
	var words []string
	for _, a := range list {
		if a.GetKey() != "rackfab.wall_unix_nano" {
			words = append(words, a.GetKey()+"="+strings.TrimSpace(a.GetValue().String()))
		}
	}
	return strings.Join(words, " ")
}

// export runs a scenario in the lab and exports it to a collector on conn. It calls at
// with the exporter in the middle of the run. It returns the digest and the counts of
// spans.
func export(t *testing.T, s *topology.Scenario, conn grpc.ClientConnInterface, limit int, at func(*telemetry.Spans)) (string, telemetry.Counts) {
	t.Helper()
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	out := telemetry.NewSpans(conn, limit)
	l.Follow = fabric.NewSelection(s.Seed, 1, nil)
	var nodes []*telemetry.Traces
	for i := range s.Nodes {
		nodes = append(nodes, telemetry.NewTraces(out, telemetry.IdentityOf("test", s, i, s.Bin), s, i, l.Follow))
	}
	l.Listen = func(node int, notes []fabric.Note) { nodes[node].Observe(notes) }
	l.Run(s.Duration / 2)
	if at != nil {
		at(out)
	}
	l.Run(s.Duration)
	for _, n := range nodes {
		n.Finish(s.Duration)
	}
	out.Finish(t.Context())
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	c := out.Counts()
	sum := c.Sent
	for _, n := range c.Dropped {
		sum += n
	}
	if c.Queued != 0 || c.Made != sum || c.Made == 0 {
		t.Errorf("%+v: want every span either sent or dropped", c)
	}
	return run.Digest, c
}

func dial(t *testing.T, address string) grpc.ClientConnInterface {
	t.Helper()
	conn, err := telemetry.Dial(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// burst returns the paper's rack with a small burst that is over within a millisecond.
func burst(t *testing.T) *topology.Scenario {
	return scenario(t, "pcn-16to2", topology.Setting{Key: "duration", Value: "1ms"}, topology.Setting{Key: "scheme", Value: "dcqcn"})
}

// The same run produces the same traces: IDs, names, times, attributes and events.
func TestTracesAreDeterministic(t *testing.T) {
	var have [2][]string
	for i := range have {
		s := &sink{}
		address, stop := s.serve(t, "")
		_, c := export(t, burst(t), dial(t, address), telemetry.DefaultSpans, nil)
		stop()
		if c.Sent != c.Made || s.spans != c.Sent {
			t.Errorf("%+v, the collector has %d", c, s.spans)
		}
		have[i] = s.lines()
	}
	if d := cmp.Diff(have[0], have[1]); d != "" {
		t.Error(d)
	}
}

// Every child span has the root of its trace as its parent, and times are fabric times
// from the epoch on.
func TestSpansOnTheWire(t *testing.T) {
	s := &sink{}
	address, stop := s.serve(t, "")
	scenario := burst(t)
	export(t, scenario, dial(t, address), telemetry.DefaultSpans, nil)
	stop()
	ids, names := map[string]bool{}, map[string]int{}
	for _, r := range s.taken {
		for _, x := range r.GetScopeSpans()[0].GetSpans() {
			names[x.GetName()]++
			if key := string(x.GetTraceId()) + string(x.GetSpanId()); ids[key] {
				t.Errorf("duplicate span ID: %s", x)
			} else {
				ids[key] = true
			}
			root := tracing.RootID([16]byte(x.GetTraceId()))
			if isRoot := len(x.GetParentSpanId()) == 0; isRoot != bytes.Equal(x.GetSpanId(), root[:]) || !isRoot && !bytes.Equal(x.GetParentSpanId(), root[:]) {
				t.Errorf("wrong parent: %s", x)
			}
			at := map[string]int64{}
			for _, a := range x.GetAttributes() {
				at[a.GetKey()] = a.GetValue().GetIntValue()
			}
			if int64(x.GetStartTimeUnixNano()) != telemetry.Epoch+at["rackfab.start_ps"]/1000 || int64(x.GetEndTimeUnixNano()) != telemetry.Epoch+at["rackfab.end_ps"]/1000 {
				t.Errorf("wrong time: %s", x)
			}
			if at["rackfab.wall_unix_nano"] == 0 || x.GetDroppedAttributesCount()+x.GetDroppedEventsCount()+x.GetDroppedLinksCount() > 0 {
				t.Errorf("incomplete: %s", x)
			}
		}
	}
	for _, name := range []string{"WRITE", "data", "switch", "wire", "receive", "notify"} {
		if names[name] == 0 {
			t.Errorf("no span is called %s: %v", name, names)
		}
	}
}

// Whatever the collector does, the digest is the same, and every span is stored or
// counted as dropped.
func TestFailingSpanCollectors(t *testing.T) {
	l, err := lab.New(burst(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Run(l.Scenario().Duration)
	quiet, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		answer func(int, int64) (int64, error)
		limit  int
		lost   string
	}{
		"rejects some": {func(_ int, spans int64) (int64, error) { return spans / 3, nil }, telemetry.DefaultSpans, telemetry.DropRejected},
		"refuses":      {func(int, int64) (int64, error) { return 0, status.Error(codes.InvalidArgument, "no") }, telemetry.DefaultSpans, telemetry.DropRefused},
		"is not there": {func(int, int64) (int64, error) { return 0, status.Error(codes.Unavailable, "down") }, telemetry.DefaultSpans, telemetry.DropUnreachable},
		"is busy at first": {func(n int, _ int64) (int64, error) {
			return 0, map[bool]error{true: status.Error(codes.Unavailable, "busy")}[n == 1]
		}, telemetry.DefaultSpans, ""},
		"has a small queue": {nil, 10, telemetry.DropQueue},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sink{answer: test.answer}
			address, stop := s.serve(t, "")
			defer stop()
			digest, c := export(t, burst(t), dial(t, address), test.limit, nil)
			if digest != quiet.Digest {
				t.Errorf("digest %s, without telemetry %s", digest, quiet.Digest)
			}
			if c.Sent != s.spans || test.lost != "" && c.Dropped[test.lost] == 0 || test.lost == "" && len(c.Dropped) > 0 {
				t.Errorf("%+v, the collector has %d", c, s.spans)
			}
		})
	}
}

// A collector that is restarted in the middle of a run receives the later data; nothing
// is counted twice, and the digest is the same.
func TestCollectorIsRestarted(t *testing.T) {
	before, after := &sink{}, &sink{}
	address, stop := before.serve(t, "")
	conn := dial(t, address)
	again := func() {}
	digest, c := export(t, burst(t), conn, telemetry.DefaultSpans, func(out *telemetry.Spans) {
		for tick := time.Tick(time.Millisecond); out.Counts().Queued > 0; {
			<-tick
		}
		stop()
		_, again = after.serve(t, address)
	})
	again()
	if before.spans == 0 || after.spans == 0 || before.spans+after.spans != c.Sent {
		t.Errorf("%+v, the collector had %d, then %d", c, before.spans, after.spans)
	}
	l, err := lab.New(burst(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Run(l.Scenario().Duration)
	if quiet, err := l.Outcome(); err != nil || digest != quiet.Digest {
		t.Errorf("digest %s, without telemetry %s, %v", digest, quiet.Digest, err)
	}
}

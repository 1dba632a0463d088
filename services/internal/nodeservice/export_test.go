package nodeservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// points are the points of a metric.
type points struct{ DataPoints []map[string]any }

// exported is the part of an export request that the tests check.
type exported struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name       string
				Gauge, Sum points
			}
		}
	}
}

// listener is a connection to a collector that keeps every point as a line.
type listener struct {
	mu    sync.Mutex
	lines []string
	dead  bool
}

func (l *listener) Invoke(_ context.Context, _ string, q, _ any, _ ...grpc.CallOption) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return status.Error(codes.Unavailable, "unreachable")
	}
	text, err := protojson.Marshal(q.(proto.Message))
	if err != nil {
		return err
	}
	var request exported
	if err := json.Unmarshal(text, &request); err != nil {
		return err
	}
	for _, r := range request.ResourceMetrics {
		for _, m := range r.ScopeMetrics[0].Metrics {
			for _, d := range slices.Concat(m.Gauge.DataPoints, m.Sum.DataPoints) {
				l.lines = append(l.lines, fmt.Sprint(m.Name, d))
			}
		}
	}
	return nil
}

func (l *listener) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.ErrUnsupported
}

// sorted returns the received points, sorted.
func (l *listener) sorted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.lines))
}

// inLab returns the points that a run of the scenario in memory exports until end.
func inLab(t *testing.T, text string, end unit.Time) []string {
	t.Helper()
	s, err := scenariofile.Parse("scenario", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	collector := &listener{}
	points := telemetry.NewPoints(collector, telemetry.DefaultQueue)
	var meters []*telemetry.Meter
	for i := range s.Nodes {
		from := telemetry.NewSource(telemetry.IdentityOf("r", s, i, s.Bin))
		meters = append(meters, telemetry.NewMeter(s, i, fabric.Sampling{Every: s.Bin, End: s.Duration}, func(b telemetry.Batch) { points.Hand(from, b) }))
	}
	l.Listen = func(node int, notes []fabric.Note) { meters[node].Observe(notes) }
	l.Run(end)
	for _, m := range meters {
		m.Finish(end)
	}
	points.Finish(t.Context())
	return collector.sorted()
}

// exporting returns a config that requests points every 5 us.
func exporting(name, scenario string, live bool) *rackfabv1.RunRequest {
	c := config(name, "r", scenario)
	c.GetConfig().Live, c.GetConfig().Telemetry = live, &rackfabv1.Telemetry{Run: "r", BinPs: int64(5 * unit.Microsecond)}
	return c
}

var sampled = strings.Replace(pair, "16KB", "300KB", 1) + "bin: 5us\n"

// open starts the three nodes of pair with a collector, and returns their streams
// after ready.
func openExporting(t *testing.T, l *listener, live bool) (streams []rackfabv1.NodeService_RunClient) {
	t.Helper()
	m := bus.NewMemory()
	for name, kind := range map[string]topology.NodeKind{"h0": topology.NIC, "h1": topology.NIC, "s0": topology.Switch} {
		n := start(t, name, kind, m.Dial())
		n.service.ExportTo(l)
		streams = append(streams, n.open(t, exporting(name, sampled, live)))
	}
	for _, s := range streams {
		if recv(t, s).GetReady() == nil {
			t.Fatal("want ready")
		}
	}
	for _, s := range streams {
		if err := s.Send(goAhead()); err != nil {
			t.Fatal(err)
		}
	}
	return streams
}

// A run exports the same points as a run in memory, and sends all of them. Without a
// reachable collector, the digests are the same, and every point is counted as
// dropped.
func TestExportMatchesTheLab(t *testing.T) {
	digests := map[bool][]uint64{}
	for _, dead := range []bool{false, true} {
		l := &listener{dead: dead}
		made, sent, dropped := int64(0), int64(0), int64(0)
		for _, s := range openExporting(t, l, false) {
			finished := (*rackfabv1.RunFinished)(nil)
			for finished == nil {
				finished = recv(t, s).GetFinished()
			}
			c := finished.GetTelemetry()
			made, sent, dropped = made+c.GetPointsMade(), sent+c.GetPointsSent(), dropped+c.GetPointsDropped()["unreachable"]
			digests[dead] = append(digests[dead], finished.GetDigest())
		}
		slices.Sort(digests[dead])
		if dead {
			if made == 0 || sent != 0 || dropped != made {
				t.Errorf("unreachable collector: %d made, %d sent, %d dropped", made, sent, dropped)
			}
			continue
		}
		want := inLab(t, sampled, 100*unit.Microsecond)
		if diff := cmp.Diff(want, l.sorted()); diff != "" || len(want) < 60 {
			t.Errorf("lab %d (-) and nodes (+):\n%s", len(want), diff)
		}
		if made != int64(len(want)) || sent != made {
			t.Errorf("%d points, %d made, %d sent", len(want), made, sent)
		}
	}
	if diff := cmp.Diff(digests[false], digests[true]); diff != "" {
		t.Errorf("digests with (-) and without (+) a collector:\n%s", diff)
	}
}

// A live run exports the same points as a batch run, whatever its grants. The points
// of an interval that a grant completes are exported before the end of the run.
func TestExportOfALiveRun(t *testing.T) {
	l := &listener{}
	streams := openExporting(t, l, true)
	last := 73 * unit.Microsecond
	for _, until := range []unit.Time{7 * unit.Microsecond, 31 * unit.Microsecond, 60*unit.Microsecond + 1, last} {
		for _, s := range streams {
			if err := s.Send(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Grant{Grant: &rackfabv1.RunGrant{UntilPs: int64(until)}}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range streams {
			for recv(t, s).GetReached() == nil {
			}
		}
	}
	for _, s := range streams {
		if err := s.Send(stop()); err != nil {
			t.Fatal(err)
		}
		_ = end(s)
	}
	want := inLab(t, sampled, last)
	if diff := cmp.Diff(want, l.sorted()); diff != "" || len(want) < 60 {
		t.Errorf("batch %d (-) and live (+):\n%s", len(want), diff)
	}
}

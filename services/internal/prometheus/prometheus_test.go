package prometheus

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// collected is a collector without a network.
type collected struct {
	rackfabv1.CollectorServiceClient
	store *store.Store
}

func (c collected) ListRuns(context.Context, *rackfabv1.ListRunsRequest, ...grpc.CallOption) (*rackfabv1.ListRunsResponse, error) {
	return &rackfabv1.ListRunsResponse{Runs: c.store.Runs()}, nil
}

func (c collected) ListSeries(_ context.Context, q *rackfabv1.ListSeriesRequest, _ ...grpc.CallOption) (*rackfabv1.ListSeriesResponse, error) {
	return c.store.ListSeries(q.GetSelect())
}

func (c collected) QuerySeries(_ context.Context, q *rackfabv1.QuerySeriesRequest, _ ...grpc.CallOption) (*rackfabv1.QuerySeriesResponse, error) {
	return c.store.QuerySeries(q)
}

const (
	epoch = int64(1577836800) // s
	bin   = int64(50_000_000) // ps
)

// points returns points in some bins.
func points(s *rackfabv1.Series, values map[int64]float64) store.Points {
	p := store.Points{Series: s}
	for b, v := range values {
		p.Times, p.Values = append(p.Times, (b+1)*bin-1000), append(p.Values, v)
	}
	return p
}

// serve serves the API over two runs of ten bins.
func serve(t testing.TB) http.Handler {
	t.Helper()
	s, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the folder is removed anyway
	port := int32(1)
	for i, scheme := range []string{"pfc", "pcn"} {
		queue := func(peer string) *rackfabv1.Series {
			return &rackfabv1.Series{Metric: "rackfab.port.queue", Unit: "By", Kind: rackfabv1.SeriesKind_SERIES_KIND_GAUGE, Node: "s1", Port: &port, Peer: peer}
		}
		peak := &rackfabv1.Series{Metric: "rackfab.port.queue.max", Unit: "By", Kind: rackfabv1.SeriesKind_SERIES_KIND_GAUGE, Node: "s1", Peer: "r1"}
		sent := &rackfabv1.Series{Metric: "rackfab.flow.sent", Unit: "By", Kind: rackfabv1.SeriesKind_SERIES_KIND_DELTA, Node: "h0", Flow: "F0"}
		own := &rackfabv1.Series{Metric: "my.gauge", Kind: rackfabv1.SeriesKind_SERIES_KIND_GAUGE, Node: "h0"}
		err := s.Write(time.Unix(1, 0), []*store.Delivery{{
			Run: store.RunInfo{Run: "run-" + scheme, Scenario: "pair", Scheme: scheme, Seed: 1 - 2*int64(i), Epoch: epoch * 1e9, Bin: bin},
			Points: []store.Points{
				points(queue("r1"), map[int64]float64{2: 100, 5: 40}), points(queue("h0"), map[int64]float64{0: 7}),
				points(peak, map[int64]float64{2: 300}), points(sent, map[int64]float64{1: 1000, 2: 2000, 9: float64(4000 + i)}), points(own, map[int64]float64{3: 5}),
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return Handler(collected{store: s})
}

// get returns the data of an answer, or its error.
func get(t *testing.T, h http.Handler, path string, form ...string) (data json.RawMessage, fault string) {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Add(form[i], form[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/"+path+"?"+values.Encode(), http.NoBody))
	var out struct {
		Status, ErrorType, Error string
		Data                     json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err, w.Body)
	}
	if (w.Code == http.StatusOK) != (out.Status == "success") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	return out.Data, strings.TrimSpace(out.ErrorType + " " + out.Error)
}

// matrix evaluates an expression over the ten bins, and returns the values by series.
func matrix(t *testing.T, h http.Handler, query, step string) map[string]string {
	t.Helper()
	data, fault := get(t, h, "query_range", "query", query, "start", "1577836850", "end", "2020-01-01T00:08:20Z", "step", step)
	if fault != "" {
		t.Fatal(query, fault)
	}
	var out struct {
		ResultType string
		Result     []struct {
			Metric map[string]string
			Values [][2]any
		}
	}
	if err := json.Unmarshal(data, &out); err != nil || out.ResultType != "matrix" {
		t.Fatal(err, string(data))
	}
	have := map[string]string{}
	for _, s := range out.Result {
		var texts []string
		for _, v := range s.Values {
			texts = append(texts, v[1].(string))
		}
		have[s.Metric["scheme"]+" "+s.Metric["peer"]] = strings.Join(texts, " ")
	}
	return have
}

// TOOL-3: every bin has a point, and none is lost: a level remains, amounts and maxima are 0
// without a point.
func TestEveryBinHasAPoint(t *testing.T) {
	h := serve(t)
	for _, tt := range []struct {
		query, step string
		want        map[string]string
	}{
		{`rackfab_port_queue_bytes{run="run-pcn"}`, "50", map[string]string{"pcn r1": "100 100 100 40 40 40 40 40", "pcn h0": "7 7 7 7 7 7 7 7 7 7"}},
		{`rackfab_port_queue_bytes{scheme=~"p.*",peer=~"r.*",node!="s0"}`, "50s", map[string]string{"pcn r1": "100 100 100 40 40 40 40 40", "pfc r1": "100 100 100 40 40 40 40 40"}},
		{`rackfab_port_queue_max_bytes{scheme="pfc"}`, "50", map[string]string{"pfc r1": "0 0 300 0 0 0 0 0 0 0"}},
		{`max_over_time(rackfab_port_queue_max_bytes{scheme="pfc"}[250s])`, "250", map[string]string{"pfc r1": "0 300"}},
		{`sum_over_time(rackfab_flow_sent_bytes[250s])`, "250", map[string]string{"pfc ": "0 3000", "pcn ": "0 3000"}},
		{`rackfab_flow_sent_bytes{scheme="pcn"}`, "50", map[string]string{"pcn ": "0 1000 2000 0 0 0 0 0 0 4001"}},
		{`avg_over_time(rackfab_flow_sent_bytes{scheme="pcn"}[100s]) * 8e12 / on(run, scheme) group_left rackfab_bin_ps`, "100s", map[string]string{"pcn ": "0 240000000 0 0 0"}},
		{`sum by (scheme) (rackfab_port_queue_bytes)`, "100", map[string]string{"pfc ": "7 107 107 47 47", "pcn ": "7 107 107 47 47"}},
		{`my_gauge{scheme="pcn"}`, "50", map[string]string{"pcn ": "5"}},
		{`rackfab_port_queue_bytes{run="none"}`, "50", map[string]string{}},
	} {
		if diff := cmp.Diff(tt.want, matrix(t, h, tt.query, tt.step)); diff != "" {
			t.Errorf("%s: %s", tt.query, diff)
		}
	}
}

// An instant without a time is that of the latest point of the latest run, which is
// 499,999 ns in fabric time.
func TestInstant(t *testing.T) {
	data, fault := get(t, serve(t), "query", "query", `rackfab_flow_sent_bytes{scheme="pcn"}`)
	if want := `"value":[1577837299.999,"4001"]`; fault != "" || !strings.Contains(string(data), want) {
		t.Errorf("%s %s, want %s", data, fault, want)
	}
	data, fault = get(t, serve(t), "query", "query", "1+1", "time", "1795690964.123")
	if want := `{"resultType":"scalar","result":[1795690964.123,"2"]}`; fault != "" || string(data) != want {
		t.Errorf("%s %s, want %s", data, fault, want)
	}
}

func TestLabels(t *testing.T) {
	h := serve(t)
	for _, tt := range []struct {
		path string
		form []string
		want string
	}{
		{"label/run/values", nil, `["run-pcn","run-pfc"]`},
		{"label/seed/values", nil, `["1","18446744073709551615"]`},
		{"label/step/values", []string{"match[]", `rackfab_bin_ps{run="run-pfc"}`}, `["50s"]`},
		{"label/peer/values", []string{"match[]", `{__name__=~"rackfab_port_.*",scheme="pcn"}`}, `["h0","r1"]`},
		{"label/__name__/values", []string{"match[]", `{scheme="pfc"}`}, `["my_gauge","rackfab_bin_ps","rackfab_flow_sent_bytes","rackfab_port_queue_bytes","rackfab_port_queue_max_bytes"]`},
		{"labels", []string{"match[]", "rackfab_flow_sent_bytes"}, `["__name__","flow","node","run","scenario","scheme","seed"]`},
		{
			"series",
			[]string{"match[]", `rackfab_port_queue_bytes{run="run-pfc",port="1",peer="r1"}`, "match[]", `{peer="none"}`},
			`[{"__name__":"rackfab_port_queue_bytes","node":"s1","peer":"r1","port":"1","run":"run-pfc","scenario":"pair","scheme":"pfc","seed":"1"}]`,
		},
	} {
		if data, fault := get(t, h, tt.path, tt.form...); fault != "" || string(data) != tt.want {
			t.Errorf("%s %v: %s%s, want %s", tt.path, tt.form, data, fault, tt.want)
		}
	}
	data, _ := get(t, h, "metadata")
	if want := `"rackfab_port_paused_ps":[{"help":"how long the peer paused at least one class of the port (amount in the bin)","type":"gauge","unit":""}]`; !strings.Contains(string(data), want) {
		t.Errorf("%s, want %s", data, want)
	}
}

func TestFaults(t *testing.T) {
	h := serve(t)
	at := []string{"start", "1577836800", "end", "1577836900"}
	for _, tt := range []struct {
		path string
		form []string
		want string
	}{
		{"query", []string{"query", "rackfab_port_queue_bytes{"}, "bad_data"},
		{"query", []string{"query", "1", "time", "noon"}, `bad_data time: "noon": want seconds since 1970, or 2020-01-01T00:00:00Z`},
		{"query", []string{"query", `rackfab_port_queue_bytes + on(node) rackfab_bin_ps`}, "execution"},
		{"query_range", slices.Concat(at, []string{"query", "1", "step", "0"}), `bad_data step: "0": want seconds above 0, or a duration such as 50s`},
		{"query_range", slices.Concat(at, []string{"query", "1", "step", "0.001"}), "bad_data step: want at most 11000 steps between start and end"},
		{"query_range", []string{"query", "1", "step", "1", "start", "2", "end", "1"}, "bad_data end: want no time before start"},
		{"query_range", []string{"query", "1", "step", "1"}, `bad_data start: ""`},
		{"series", nil, "bad_data match[]: want a selector"},
		{"labels", []string{"match[]", "1"}, "bad_data match[]"},
	} {
		if data, fault := get(t, h, tt.path, tt.form...); !strings.HasPrefix(fault, tt.want) {
			t.Errorf("%s %v: %s%s, want %s", tt.path, tt.form, data, fault, tt.want)
		}
	}
}

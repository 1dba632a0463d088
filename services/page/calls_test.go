package page

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// post makes a call as the page does.
func post(p *Page, method, body string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/api/call/"+method, strings.NewReader(body))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set(tokenHeader, p.token)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, q)
	return w
}

// A call performs the gRPC call of its name, with protobuf's JSON mapping.
func TestCallsMatchTheContract(t *testing.T) {
	r := &rack{}
	p := newPage(t, Options{Fabric: r})
	w := post(p, "Apply", `{"change":{"burst":{"from":"h2..h15","to":"r1","flowsPerSender":16,"sizeBytes":"64000"}}}`)
	if w.Code != 200 || len(r.applied) != 1 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if b := r.applied[0].GetChange().GetBurst(); b.GetFrom() != "h2..h15" || b.GetFlowsPerSender() != 16 || b.GetSizeBytes() != 64000 {
		t.Errorf("%v", b)
	}
	if !strings.Contains(strings.ReplaceAll(w.Body.String(), " ", ""), `"atPs":"7"`) {
		t.Errorf("answer %s", w.Body)
	}
}

// An error keeps its code, its message and the invalid fields.
func TestCallErrors(t *testing.T) {
	bad, err := status.New(codes.InvalidArgument, "burst.from: no NIC is called x").WithDetails(&errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "burst.from", Description: "no NIC is called x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, method, body string
		err                error
		status             int
		want               string
	}{
		{"a field", "Apply", `{}`, bad.Err(), 400, `"fields":{"burst.from":"no NIC is called x"}`},
		{"no rack", "Apply", `{}`, status.Error(codes.FailedPrecondition, "no live rack"), 400, `"code":"FailedPrecondition"`},
		{"no right", "Apply", `{}`, status.Error(codes.PermissionDenied, "no"), 403, `"message":"no"`},
		{"no controller", "Apply", `{}`, status.Error(codes.Unavailable, "gone"), 503, `"gone"`},
		{"no JSON", "Apply", `{"chance":1}`, nil, 400, `chance`},
		{"no call", "StopRack", `{}`, nil, 404, `no call StopRack`},
		{"no collector", "ListTraces", `{}`, nil, 404, `no collector`},
		{"too long", "Apply", `{"change":{"linkDown":"` + strings.Repeat("x", maxCall) + `"}}`, nil, 413, `1 MiB`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := post(newPage(t, Options{Fabric: &rack{err: c.err}}), c.method, c.body)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s, want %d with %s", w.Code, w.Body, c.status, c.want)
			}
		})
	}
}

// A call of the largest size is made, and one of a byte more is refused.
func TestSizeOfCallIsLimited(t *testing.T) {
	for over, want := range []int{http.StatusOK, http.StatusRequestEntityTooLarge} {
		r := &rack{}
		w := post(newPage(t, Options{Fabric: r}), "Apply", "{}"+strings.Repeat(" ", maxCall-2+over))
		if w.Code != want || len(r.applied) != 1-over {
			t.Errorf("%d bytes above the limit: %d %s, %d calls; want %d", over, w.Code, w.Body, len(r.applied), want)
		}
	}
}

// Only files inside the folder of runs can be read.
func TestRunsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret": "secret", "runs/a/results.json": `{"runs":[]}`, "runs/a/manifest.json": `{"schemes":["pfc","pcn"]}`, "runs/b/results.json": `{}`, "runs/b/series.json": `{"pcn":{}}`, "runs/live.yaml": "",
		"runs/b/scenario.yaml": "name: x\nduration: 1us\nnics: {h0..h1: }\nlinks: [{endpoints: [h0, h1], rate: 1Gbps, delay: 1us}]\n", "runs/c/other": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "runs/a/series.json")); err != nil {
		t.Fatal(err)
	}
	p := newPage(t, Options{Runs: filepath.Join(dir, "runs")})
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/runs", 200, `[{"name":"b","schemes":[]},{"name":"a","schemes":["pfc","pcn"]}]`},
		{"/api/runs/b/series.json", 200, `{"pcn":{}}`},
		{"/api/runs/b/topology", 200, `"h1"`},
		{"/api/runs/a/topology", 404, ""},
		{"/api/runs/a/series.json", 404, ""}, // leads out of the folder
		{"/api/runs/b/manifest.json", 404, ""},
		{"/api/runs/%2e%2e/secret", 404, ""},
		{"/api/runs/..%2fsecret/series.json", 404, ""},
		{"/api/scenarios/pcn-16to2", 200, `"s1"`},
		{"/api/scenarios/none", 404, ""},
	} {
		w := get(p, c.path, nil)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || strings.Contains(w.Body.String(), "secret\n") {
			t.Errorf("%s: %d %.200s", c.path, w.Code, w.Body)
		}
	}
	if w := get(newPage(t, Options{Runs: filepath.Join(dir, "none")}), "/api/runs", nil); w.Body.String() != "[]\n" {
		t.Errorf("no folder: %s", w.Body)
	}
}

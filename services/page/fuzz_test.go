package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Requests of any path and body have an answer of the page, also with its token.
func FuzzRequests(f *testing.F) {
	f.Add("/api/call/Apply", `{"change":{"burst":{"from":"h2..h15","to":"r1"}}}`)
	f.Add("/api/call/GetTopology", "{}")
	f.Add("/api/runs/../secret", "")
	f.Add("/api/history?from=1&to=2", "")
	f.Add("/api/paths/a/0123", "")
	f.Add("/api/scenarios/star-2", "")
	p, err := New(Options{Runs: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(p.Close)
	p.options.Fabric = &rack{}
	p.calls["Apply"] = unary((&rack{}).Apply)
	f.Fuzz(func(t *testing.T, path, body string) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, strings.NewReader(body))
		if err != nil || !strings.HasPrefix(q.URL.Path, "/") || strings.HasPrefix(q.URL.Path, "/api/live") {
			return
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			q.Method = method
			q.Header.Set("Content-Type", "application/json")
			q.Header.Set(tokenHeader, p.token)
			w := httptest.NewRecorder()
			p.ServeHTTP(w, q)
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Security-Policy") == "" {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	})
}

package page

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// newPage returns a page with the given options only.
func newPage(t *testing.T, o Options) *Page {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Only calls from the page itself, under a permitted host name and with its token, reach
// the rack.
func TestOnlyTheSameOriginMayCall(t *testing.T) {
	r := &rack{}
	p := newPage(t, Options{Fabric: r, Hosts: []string{"rack.example"}})
	good := func(q *http.Request) {
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set(tokenHeader, p.token)
		q.Header.Set("Origin", "http://127.0.0.1:8080")
		q.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"the page", func(*http.Request) {}, 200},
		{"a program without a browser", func(q *http.Request) { q.Header.Del("Origin"); q.Header.Del("Sec-Fetch-Site") }, 200},
		{"by the name of loopback", func(q *http.Request) { q.Host = "localhost:8080"; q.Header.Set("Origin", "http://localhost:8080") }, 200},
		{"by IPv6", func(q *http.Request) { q.Host = "[::1]:8080"; q.Header.Set("Origin", "http://[::1]:8080") }, 200},
		{"by a name that was given", func(q *http.Request) { q.Host = "rack.example"; q.Header.Set("Origin", "http://rack.example") }, 200},
		{"another name for this host", func(q *http.Request) {
			q.Host = "evil.example:8080"
			q.Header.Set("Origin", "http://evil.example:8080")
		}, 421},
		{"an address that is not loopback", func(q *http.Request) { q.Host = "10.0.0.1:8080" }, 421},
		{"another site", func(q *http.Request) { q.Header.Set("Origin", "http://evil.example") }, 403},
		{"another port", func(q *http.Request) { q.Header.Set("Origin", "http://127.0.0.1:9999") }, 403},
		{"a site that says so", func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a page without origin", func(q *http.Request) { q.Header.Set("Origin", "null") }, 403},
		{"without the token", func(q *http.Request) { q.Header.Del(tokenHeader) }, 403},
		{"with another token", func(q *http.Request) { q.Header.Set(tokenHeader, newToken()) }, 403},
		{"as a form", func(q *http.Request) { q.Header.Set("Content-Type", "text/plain") }, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(r.applied)
			q := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/api/call/Apply", strings.NewReader(`{"change":{"linkDown":"a--b"}}`))
			good(q)
			c.change(q)
			w := httptest.NewRecorder()
			p.ServeHTTP(w, q)
			if reached := len(r.applied) > before; w.Code != c.want || reached != (c.want == 200) {
				t.Errorf("%d %s, reached the rack: %v; want %d", w.Code, w.Body, reached, c.want)
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Error("another origin may read it")
			}
		})
	}
}

// The API of Prometheus takes forms without the token, but not from other sites.
func TestPrometheusNeedsNoToken(t *testing.T) {
	p := newPage(t, Options{Collector: &empty{}})
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"Grafana", func(*http.Request) {}, 200},
		{"another site", func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"another origin", func(q *http.Request) { q.Header.Set("Origin", "http://evil.example") }, 403},
		{"another name for this host", func(q *http.Request) { q.Host = "evil.example" }, 421},
	} {
		q := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/api/v1/query", strings.NewReader("query=1&time=1"))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		c.change(q)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, q)
		if w.Code != c.want || c.want == 200 && w.Body.String() != `{"data":{"resultType":"scalar","result":[1,"1"]},"status":"success"}` {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
}

// Reads are guarded too: only the page learns the token.
func TestOtherOriginsReadNothing(t *testing.T) {
	p := newPage(t, Options{})
	for _, at := range []string{"/api/session", "/api/live", "/api/history", "/api/runs"} {
		q := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+at, http.NoBody)
		q.Header.Set("Sec-Fetch-Site", "cross-site")
		w := httptest.NewRecorder()
		p.ServeHTTP(w, q)
		if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), p.token) {
			t.Errorf("%s: %d %s", at, w.Code, w.Body)
		}
	}
}

// Every file is served with its type and a policy that blocks other origins. No file
// contains inline code or style, or refers to another host.
func TestAssetsHaveASameOriginPolicy(t *testing.T) {
	p := newPage(t, Options{})
	inline := regexp.MustCompile(`(?i)<script>|<script [^>]*>[^<]|<style|\son[a-z]+="|\sstyle="|https?://[^w]`)
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at := strings.TrimPrefix(name, "assets")
		w := get(p, at, nil)
		kind := map[string]string{".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}[path.Ext(name)]
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || kind == "" {
			t.Errorf("%s: %d %s", at, w.Code, w.Header())
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", at, csp)
		}
		if found := inline.FindString(w.Body.String()); found != "" {
			t.Errorf("%s has %q", at, found)
		}
		if lines := strings.Count(w.Body.String(), "\n"); lines > 350 {
			t.Errorf("%s has %d lines", at, lines)
		}
		again := get(p, at, http.Header{"If-None-Match": {w.Header().Get("ETag")}})
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again: %d, %d bytes", at, again.Code, again.Body.Len())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := get(p, "/nothing", nil); w.Code != http.StatusNotFound {
		t.Errorf("/nothing: %d", w.Code)
	}
}

// get requests a path from the page.
func get(p *Page, at string, header http.Header) *httptest.ResponseRecorder {
	q := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+at, http.NoBody)
	for key, values := range header {
		q.Header[key] = values
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, q)
	return w
}

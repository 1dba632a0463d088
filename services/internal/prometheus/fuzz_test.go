package prometheus

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Queries of any text have an answer, or an error that is not the server's.
func FuzzQuery(f *testing.F) {
	f.Add("query", "rackfab_port_queue_bytes{node=\"s1\"}", "1577836800", "5")
	f.Add("query_range", "rate(rackfab_flow_sent_bytes[5s])", "1577836800", "1")
	f.Add("series", "x", "0", "")
	f.Add("labels", "{a=~\".*\"}", "2020-01-01T00:00:00Z", "")
	f.Add("metadata", "", "", "")
	h := serve(f)
	f.Fuzz(func(t *testing.T, path, query, at, step string) {
		form := url.Values{"query": {query}, "match[]": {query}, "time": {at}, "start": {at}, "end": {at}, "step": {step}}
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+Path+url.PathEscape(path)+"?"+form.Encode(), http.NoBody)
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code >= 500 {
			t.Errorf("%s %q at %q, step %q: %d %s", path, query, at, step, w.Code, w.Body)
		}
	})
}

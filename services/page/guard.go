package page

import (
	"crypto/subtle"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rackfab/rackfab/services/internal/prometheus"
)

// tokenHeader is the header that carries the page's token. A page of another origin
// cannot set it without a CORS preflight, which is never granted.
const tokenHeader = "X-Rackfab-Token" //nolint:gosec // the name of a header, no secret

// policy lets the page load only its own resources and forbids framing it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard rejects requests that do not come from the page itself: under other host names
// (DNS rebinding), from other sites (CSRF), and calls without the token. Queries of
// Prometheus need no token, because they change nothing.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitTime(w, r)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case !p.servesHost(r.Host):
			sendError(w, http.StatusMisdirectedRequest, "this page is not served under "+r.Host+" (use --host)")
		case strings.HasPrefix(r.URL.Path, "/api/") && !sameOrigin(r):
			sendError(w, http.StatusForbidden, "only the page itself may call")
		case r.Method == http.MethodPost && !strings.HasPrefix(r.URL.Path, prometheus.Path) && !p.authorized(r):
			sendError(w, http.StatusForbidden, "a call needs content type application/json and the page's token")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// limitTime limits the wall time of a request and its answer. The read limit of a server
// would end streams of events as well.
func limitTime(w http.ResponseWriter, r *http.Request) {
	limits, now := http.NewResponseController(w), time.Now()
	_ = limits.SetWriteDeadline(now.Add(answerLimit)) // unsupported only by stand-ins of tests
	if r.Method == http.MethodPost {
		_ = limits.SetReadDeadline(now.Add(bodyLimit))
	}
}

// servesHost reports whether the page may be reached under a host: a loopback address,
// localhost, or a configured name.
func (p *Page) servesHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() {
		return true
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(p.options.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// sameOrigin reports whether the request comes from the page itself, according to the
// browser, or was not sent by a browser.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

// authorized reports whether a call has the content type and the token that only the page can
// set.
func (p *Page) authorized(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json" && subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(p.token)) == 1
}

// sendError responds with an error, in the form of all errors of the bridge.
func sendError(w http.ResponseWriter, status int, message string) {
	send(w, status, map[string]string{"message": message})
}

// send responds with JSON. It does not encode a []byte again.
func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	text, ok := v.([]byte)
	if !ok {
		text = append(marshal(v), '\n')
	}
	_, _ = w.Write(text) // the client may have disconnected
}

// marshal encodes strings, numbers, and lists and maps of them, which cannot fail.
func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

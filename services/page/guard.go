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
)

// tokenHeader is where a call shows the page's token. A page of another origin
// cannot set it without asking first, and is never allowed to.
const tokenHeader = "X-Rackfab-Token" //nolint:gosec // the name of a header, no secret

// policy lets the page load what comes from itself alone, and nobody frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard keeps away what does not come from the page itself: other names for the
// host (DNS rebinding), other sites (CSRF), and calls without the token.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case !p.named(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "this page is not called "+r.Host)
		case strings.HasPrefix(r.URL.Path, "/api/") && !sameOrigin(r):
			refuse(w, http.StatusForbidden, "calls come from the page itself alone")
		case r.Method == http.MethodPost && !p.meant(r):
			refuse(w, http.StatusForbidden, "a call needs content type application/json and the page's token")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// named tells whether the page goes by a host: an address of loopback, localhost,
// or a name that was given.
func (p *Page) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() {
		return true
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(p.options.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// sameOrigin tells whether a browser says that the request comes from the page, or
// no browser sent it.
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

// meant tells whether a call has what only the page can give it.
func (p *Page) meant(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json" && subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(p.token)) == 1
}

// refuse answers in error, in the form of every error of the bridge.
func refuse(w http.ResponseWriter, status int, message string) {
	send(w, status, map[string]string{"message": message})
}

// send answers with JSON.
func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

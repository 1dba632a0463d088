// Package page serves a web page that shows a rack: the assets, which are embedded in
// the binary, and the bridge between HTTP and the gRPC calls of controller and
// collector, for Grafana with the API of Prometheus. It does not draw or control a rack: the browser draws, the controller
// decides.
package page

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/prometheus"
)

// Options configure a page.
type Options struct {
	Fabric    rackfabv1.FabricServiceClient    // the controller; may be nil
	Collector rackfabv1.CollectorServiceClient // may be nil
	Runs      string                           // folder of finished runs, "" for none
	// Hosts are host names, without port, under which browsers may reach the page in
	// addition to those of loopback.
	Hosts []string
}

// Page is an http.Handler. Close stops its background work.
type Page struct {
	options Options
	token   string // required in every call of the bridge
	feed    *feed
	calls   map[string]call
	handler http.Handler
	cancel  context.CancelFunc
	done    chan struct{}
}

// New returns a page. It returns an error if the folder of runs cannot be opened; a
// missing folder counts as empty.
func New(o Options) (*Page, error) {
	p := &Page{options: o, token: newToken(), feed: newFeed(), calls: map[string]call{}, done: make(chan struct{})}
	if root, err := p.openRuns(); err == nil {
		_ = root.Close() // nothing was read
	} else if !os.IsNotExist(err) {
		return nil, err
	}
	p.addCalls()
	p.handler = p.routes()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		if o.Fabric != nil {
			p.feed.follow(ctx, o.Fabric)
		}
	}()
	return p, nil
}

// Close ends the streams of the page's viewers and its stream from the controller.
func (p *Page) Close() {
	p.cancel()
	<-p.done
	p.feed.close()
}

// ServeHTTP serves the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

func (p *Page) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", assets())
	mux.HandleFunc("GET /api/session", p.session)
	mux.HandleFunc("GET /api/live", p.live)
	mux.HandleFunc("GET /api/history", p.history)
	mux.HandleFunc("GET /api/runs", p.listRuns)
	mux.HandleFunc("GET /api/runs/{run}/{file}", p.runFile)
	mux.HandleFunc("GET /api/scenarios/{name}", builtin)
	mux.HandleFunc("GET /api/paths/{run}/{trace}", p.path)
	mux.HandleFunc("POST /api/call/{method}", p.call)
	if p.options.Collector != nil {
		queries := prometheus.Handler(p.options.Collector)
		mux.Handle("GET "+prometheus.Path, queries)
		mux.Handle("POST "+prometheus.Path, queries)
	}
	return p.guard(mux)
}

// session sends the token, the services that are available, and the name of the folder
// of finished runs, "" for none. A page of another origin cannot
// read the response, and so does not learn the token.
func (p *Page) session(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, map[string]any{
		"token": p.token, "controller": p.options.Fabric != nil, "collector": p.options.Collector != nil, "runs": p.options.Runs,
	})
}

// newToken returns 256 random bits as text.
func newToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Package page shows a rack on one page of the web: the assets, which are part of
// the binary, and the bridge between HTTP and the gRPC calls of controller and
// collector. It draws nothing and decides nothing about a rack: the browser draws,
// the controller decides.
package page

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Options say what a page shows.
type Options struct {
	Fabric    rackfabv1.FabricServiceClient    // the controller; may be nil
	Collector rackfabv1.CollectorServiceClient // may be nil
	Runs      string                           // folder of finished runs, "" for none
	// Hosts are names that browsers may call the page by beside those of loopback,
	// without port: a page is reached under another name only if it was meant to be.
	Hosts []string
}

// Page is an http.Handler. Close ends what it does in the background.
type Page struct {
	options Options
	token   string // every call of the bridge shows it
	feed    *feed
	runs    *os.Root // nil for none
	calls   map[string]call
	handler http.Handler
	cancel  context.CancelFunc
	done    chan struct{}
}

// New makes a page. It errs if the folder of runs cannot be opened; one that is not
// there yet is as good as empty.
func New(o Options) (*Page, error) {
	p := &Page{options: o, token: newToken(), feed: newFeed(), calls: map[string]call{}, done: make(chan struct{})}
	if o.Runs != "" {
		root, err := os.OpenRoot(o.Runs)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		p.runs = root
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

// Close ends the streams of the page's viewers and its own.
func (p *Page) Close() {
	p.cancel()
	<-p.done
	p.feed.close()
	if p.runs != nil {
		_ = p.runs.Close() // it was only read
	}
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
	mux.HandleFunc("POST /api/call/{method}", p.call)
	return p.guard(mux)
}

// session tells the page what there is. A page of another origin cannot read it,
// and so does not learn the token.
func (p *Page) session(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, map[string]any{
		"token": p.token, "controller": p.options.Fabric != nil, "collector": p.options.Collector != nil, "runs": p.runs != nil,
	})
}

// newToken gives 256 random bits as text.
func newToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

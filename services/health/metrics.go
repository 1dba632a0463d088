package health

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rackfab/rackfab/services/internal/serve"
)

// Source reports values by calling put. The endpoint calls it from its own goroutines.
type Source func(put Put)

// Put reports the value of a metric, with the values of its labels in their order.
type Put = func(m *Metric, value float64, labels ...string)

// CallsOf returns a source of the counts of a gRPC server's calls.
func CallsOf(s *serve.Server) Source {
	return func(put Put) {
		s.Calls(func(method, code string, count int64) { put(Calls, float64(count), method, code) })
	}
}

// ReconnectsOf returns a source of the number of reconnections of a bus connection, if
// the connection counts them.
func ReconnectsOf(conn any) Source {
	return func(put Put) {
		if c, ok := conn.(interface{ Reconnects() int64 }); ok {
			put(BusReconnects, float64(c.Reconnects()))
		}
	}
}

// scrapeLimit is how long a scrape may take, with its request and its answer, in wall time.
const scrapeLimit = 30 * time.Second

// Serve exports the values of sources, and metrics of the process and the Go runtime,
// at http://address/metrics until ctx ends. An empty address disables the endpoint.
// Serve returns the address at which it listens.
func Serve(ctx context.Context, address string, sources ...Source) (string, error) {
	if address == "" {
		return "", nil
	}
	l, err := serve.Open(address, false)
	if err != nil {
		return "", fmt.Errorf("listen for metrics at %s: %w", address, err)
	}
	go answer(ctx, l, handler(sources...))
	return l.Addr().String(), nil
}

// answer answers scrapes until ctx ends. If the server fails before that, it logs
// the error; the process continues without the endpoint.
func answer(ctx context.Context, l net.Listener, scrape http.Handler) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	server := serve.HTTP(mux)
	server.ReadTimeout, server.WriteTimeout = scrapeLimit, scrapeLimit
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // scrapes may be cut off
	if err := server.Serve(l); ctx.Err() == nil {
		slog.Error("metrics are no longer served", "address", l.Addr(), "error", err)
	}
}

// handler returns the HTTP handler of the endpoint.
func handler(sources ...Source) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), reader(sources))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

// reader is a prometheus.Collector that queries its sources on each scrape.
type reader []Source

// Describe sends the descriptions of all metrics in the catalogue.
func (reader) Describe(out chan<- *prometheus.Desc) {
	for _, m := range Catalogue {
		out <- m.description()
	}
}

// Collect sends the current values of all sources.
func (r reader) Collect(out chan<- prometheus.Metric) {
	for _, s := range r {
		s(func(m *Metric, value float64, labels ...string) {
			kind := prometheus.GaugeValue
			if m.counter() {
				kind = prometheus.CounterValue
			}
			out <- prometheus.MustNewConstMetric(m.description(), kind, value, labels...)
		})
	}
}

// Package collector runs the process that stores the telemetry of the nodes of a rack.
// It receives spans and points by OTLP over gRPC and HTTP, stores them with package store,
// answers CollectorService, and forwards everything to another OTLP endpoint if one is
// configured. Acknowledged data is on disk. The package knows the messages of OTLP and
// the attributes that nodes set on them; it does not run a rack.
package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	_ "google.golang.org/grpc/encoding/gzip" // clients of OTLP may send gzip

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Defaults of a collector.
const (
	// Listen is the default address for clients of OTLP over gRPC.
	Listen = "127.0.0.1:4317"
	// MaxSize is the maximum size of the store on disk, in bytes.
	MaxSize = 2_000_000_000
	// MaxMessage is the maximum size of a request after decompression, in bytes.
	MaxMessage = 16 << 20
)

// Settings of the garbage collector of a collector process, unless the environment sets
// GOGC or GOMEMLIMIT. Nearly all allocations are requests, which become garbage once
// they are stored, so that collecting seldom pays while there is memory.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20 // bytes
)

// idleLimit is how long a run may receive no data before it is closed.
const idleLimit = 30 * time.Second

// Options configure a collector.
type Options struct {
	Listen      string        // address of the gRPC server; "" means Listen
	Data        string        // folder of the store
	MaxSize     int64         // bytes on disk; 0 means unlimited
	KeepSlowest float64       // fraction of a flow's traces whose details are kept when a run closes; 0 keeps all
	Forward     string        // OTLP endpoint that everything is forwarded to; "" for none
	TLS         *identity.TLS // nil means plain TCP
	// OTLPHTTP is the address of the server of OTLP over HTTP; "" disables it.
	OTLPHTTP string
	// HTTP is the address at which Show serves HTTP until its context ends; "" disables it.
	// Show receives the address of the gRPC server.
	HTTP string
	Show func(ctx context.Context, l net.Listener, address string) error
	// AnyPort selects a free port of the host if the port in Listen, OTLPHTTP or HTTP is in use.
	AnyPort bool
	// Metrics is the address of the process's own metrics for Prometheus; "" disables them.
	Metrics string
	Ready   io.Writer // receives one line of JSON once the collector serves requests; may be nil
}

// Main runs a collector process until ctx ends.
func Main(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, wait, err := Start(ctx, o)
	if err != nil {
		return err
	}
	if err = serve.Announce(o.Ready, ready); err != nil {
		cancel()
	}
	return errors.Join(err, wait())
}

// Start starts a collector in this process and returns its addresses. The collector runs
// until ctx ends; wait blocks until all queued data is written. Start also makes the
// process collect garbage less often.
func Start(ctx context.Context, o Options) (ready serve.Ready, wait func() error, err error) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(memoryLimit)
	}
	forward, err := newForwarder(o.Forward)
	if err != nil {
		return serve.Ready{}, nil, err
	}
	data, err := openStore(o.Data, store.Options{MaxSize: o.MaxSize, KeepSlowest: o.KeepSlowest})
	if err == nil {
		if ready, wait, err = o.serve(ctx, newCollector(data, forward, o.MaxSize)); err == nil {
			return ready, wait, nil
		}
		err = errors.Join(err, data.Close())
	}
	if forward != nil {
		forward.disconnect()
	}
	return serve.Ready{}, nil, err
}

// openStore opens a store and logs every damaged run that is left out.
func openStore(folder string, o store.Options) (*store.Store, error) {
	data, err := store.Open(folder, o)
	if err != nil {
		return nil, err
	}
	found, _ := data.Damaged()
	for _, d := range found {
		slog.Error("a damaged run is left out", "file", d.File, "lost", d.Lost, "problem", d.Problem)
	}
	return data, nil
}

// serve runs a collector until ctx ends, as Start describes. After an error the store
// stays open.
func (o Options) serve(ctx context.Context, c *collector) (ready serve.Ready, wait func() error, err error) {
	s, err := serve.ListenAs(cmp.Or(o.Listen, Listen), o.TLS, serve.Options{LargestRequest: MaxMessage, Codec: newCodec(), Watch: sizes{}, AnyPort: o.AnyPort})
	if err != nil {
		return serve.Ready{}, nil, err
	}
	tracespb.RegisterTraceServiceServer(limited{s}, traceReceiver{collector: c})
	metricspb.RegisterMetricsServiceServer(limited{s}, metricsReceiver{collector: c})
	api := &service{store: c.store, collector: c}
	rackfabv1.RegisterCollectorServiceServer(limited{s}, api)
	ctx, cancel := context.WithCancel(ctx)
	metrics, err := health.Serve(ctx, o.Metrics, api.metrics, health.CallsOf(s))
	var page, overHTTP string
	var stopPage func() error
	var stopHTTP func()
	if err == nil {
		overHTTP, stopHTTP, err = o.serveHTTP(c)
	}
	if err == nil {
		if page, stopPage, err = o.servePage(ctx, s.Address()); err != nil {
			stopHTTP()
		}
	}
	if err != nil {
		cancel()
		s.Close()
		return serve.Ready{}, nil, err
	}
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- errors.Join(c.run(ctx, s, stopHTTP), stopPage(), c.store.Close())
	}()
	return serve.Ready{Name: identity.Collector, Address: s.Address(), OTLPHTTP: overHTTP, Page: page, Metrics: metrics}, func() error { return <-ended }, nil
}

// run serves until ctx ends. It then refuses further calls, by stopHTTP those of the other
// server, and drains the queues.
func (c *collector) run(ctx context.Context, s *serve.Server, stopHTTP func()) error {
	var writing, forwarding, closing sync.WaitGroup
	writing.Go(func() { c.queue.work(c.write, c.forward.put) })
	forwarding.Go(func() { c.forward.work(ctx) })
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	closing.Go(func() { c.closeIdle(serving) })
	err := s.Serve(ctx)
	stopHTTP()
	stop()
	closing.Wait()
	c.queue.close()
	writing.Wait()
	c.forward.close()
	forwarding.Wait()
	return errors.Join(err, c.store.CloseIdle(time.Now()))
}

// closeIdle closes idle runs every second until ctx ends.
func (c *collector) closeIdle(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case now := <-ticker.C:
			err := c.store.CloseIdle(now.Add(-idleLimit))
			if err != nil && !failing { // a full disk fails every second
				slog.Error("cannot close idle runs", "error", err)
			}
			failing = err != nil
		case <-ctx.Done():
			return
		}
	}
}

// servePage runs Show, if configured, until ctx ends or stop is called. stop waits for Show
// and returns its error. If Show ends earlier, its error is logged at once, and the
// collector goes on storing data.
func (o Options) servePage(ctx context.Context, address string) (page string, stop func() error, err error) {
	if o.HTTP == "" || o.Show == nil {
		return "", func() error { return nil }, nil
	}
	l, err := serve.Open(o.HTTP, o.AnyPort)
	if err != nil {
		return "", nil, fmt.Errorf("listen for HTTP at %s: %w", o.HTTP, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := o.Show(ctx, l, address)
		if ctx.Err() == nil {
			slog.Error("the page is no longer served", "address", l.Addr(), "error", err)
		}
		ended <- err
	}()
	return l.Addr().String(), func() error {
		cancel()
		return <-ended
	}, nil
}

// Stored serves CollectorService for a folder that no collector uses, on a free loopback
// port, until ctx ends. It returns the address.
func Stored(ctx context.Context, data string) (string, error) {
	stored, err := openStore(data, store.Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	s, err := serve.ListenAs("", nil, serve.Options{})
	if err != nil {
		return "", errors.Join(err, stored.Close())
	}
	c := newCollector(stored, nil, 0)
	rackfabv1.RegisterCollectorServiceServer(s, &service{store: stored, collector: c, readOnly: true})
	go func() {
		_ = s.Serve(ctx)   // ends with ctx
		_ = stored.Close() // nothing was written
	}()
	return s.Address(), nil
}

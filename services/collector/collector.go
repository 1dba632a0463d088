// Package collector is the process that keeps what the nodes of a rack tell: it
// takes spans and points by OTLP over gRPC, stores them in package store, answers
// CollectorService, and hands everything on to another endpoint if it is told to.
// What it has acknowledged is on disk. It knows the messages of OTLP and the
// attributes that nodes put on them; it runs no rack.
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
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	_ "google.golang.org/grpc/encoding/gzip" // clients of OTLP may send gzip

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/vitals"
)

// Defaults of a collector.
const (
	// Listen is the port that clients of OTLP over gRPC call by default.
	Listen = "127.0.0.1:4317"
	// MaxSize is how many bytes the store may have on disk.
	MaxSize = 2_000_000_000
	// MaxMessage is the largest request, in bytes, unpacked.
	MaxMessage = 16 << 20
)

// Settings of a process with a collector, where the environment variables GOGC and
// GOMEMLIMIT say nothing: what it allocates are requests, which are gone once they
// are stored, so that it collects garbage seldom while there is memory.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20 // bytes
)

// idleLimit is how long nothing may come of a run until it counts as closed.
const idleLimit = 30 * time.Second

// Options say how a collector works.
type Options struct {
	Listen      string        // address of the gRPC server, "" is Listen
	Data        string        // folder of the store
	MaxSize     int64         // bytes on disk; 0 is no bound
	KeepSlowest float64       // share of a flow's traces whose details are kept when a run closes; 0 keeps all
	Forward     string        // endpoint of OTLP that gets everything too, "" for none
	TLS         *identity.TLS // nil is plain TCP
	// HTTP is the address at which Show serves HTTP until its context ends, "" for
	// nowhere. Show gets the address of the gRPC server.
	HTTP string
	Show func(ctx context.Context, l net.Listener, address string) error
	// AnyPort says that where Listen or HTTP is occupied, a free port of its host does.
	AnyPort bool
	// Metrics is where Prometheus asks how the process fares, "" for nowhere.
	Metrics string
	Ready   io.Writer // gets one line of JSON once the collector answers; may be nil
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

// Start starts a collector in this process and says where it is. It works until ctx
// ends; wait waits until it has put away what it holds. The process collects garbage
// seldom from then on.
func Start(ctx context.Context, o Options) (ready serve.Ready, wait func() error, err error) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(memoryLimit)
	}
	forward, err := newForwarder(o.Forward)
	if err != nil {
		return serve.Ready{}, nil, err
	}
	kept, err := openStore(o.Data, store.Options{MaxSize: o.MaxSize, KeepSlowest: o.KeepSlowest})
	if err != nil {
		forward.hangUp()
		return serve.Ready{}, nil, err
	}
	ready, wait, err = o.serve(ctx, newCollector(kept, forward, o.MaxSize))
	if err != nil {
		forward.hangUp()
		return serve.Ready{}, nil, errors.Join(err, kept.Close())
	}
	return ready, wait, nil
}

// openStore opens a store, and tells what of it is left out.
func openStore(data string, o store.Options) (*store.Store, error) {
	kept, err := store.Open(data, o)
	if err != nil {
		return nil, err
	}
	found, _ := kept.Damaged()
	for _, d := range found {
		slog.Error("a damaged run is left out", "file", d.File, "lost", d.Lost, "problem", d.Problem)
	}
	return kept, nil
}

// serve has a collector answer until ctx ends, as of Start. Its store stays open after
// an error.
func (o Options) serve(ctx context.Context, c *collector) (ready serve.Ready, wait func() error, err error) {
	s, err := serve.ListenAs(cmp.Or(o.Listen, Listen), o.TLS, serve.LargestRequest(MaxMessage), serve.Watched(sizes{}), serve.AnyPort(o.AnyPort))
	if err != nil {
		return serve.Ready{}, nil, err
	}
	tracespb.RegisterTraceServiceServer(s, traceReceiver{collector: c})
	metricspb.RegisterMetricsServiceServer(s, metricsReceiver{collector: c})
	answers := &service{store: c.store, collector: c}
	rackfabv1.RegisterCollectorServiceServer(s, answers)
	ctx, cancel := context.WithCancel(ctx)
	if _, err = vitals.Serve(ctx, o.Metrics, answers.vitals, vitals.CallsOf(s.Calls)); err != nil {
		cancel()
		s.Close()
		return serve.Ready{}, nil, err
	}
	page, hide, err := o.show(ctx, s.Address())
	if err != nil {
		cancel()
		s.Close()
		return serve.Ready{}, nil, err
	}
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- errors.Join(c.run(ctx, s), hide(), c.store.Close())
	}()
	return serve.Ready{Name: identity.Collector, Address: s.Address(), Page: page}, func() error { return <-ended }, nil
}

// run serves until ctx ends: first no more calls, then the queues empty.
func (c *collector) run(ctx context.Context, s *serve.Server) error {
	writing, forwarding := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(writing)
		c.queue.work(c.write, c.forward.put)
	}()
	go func() {
		defer close(forwarding)
		c.forward.work(ctx)
	}()
	stop := c.closeIdle()
	err := s.Serve(ctx)
	stop()
	c.queue.close()
	<-writing
	c.forward.close()
	<-forwarding
	return errors.Join(err, c.store.CloseIdle(time.Now()))
}

// closeIdle closes runs of which nothing comes any more, until stop.
func (c *collector) closeIdle() (stop func()) {
	ticker, done, ended := time.NewTicker(time.Second), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for failing := false; ; {
			select {
			case now := <-ticker.C:
				err := c.store.CloseIdle(now.Add(-idleLimit))
				if err != nil && !failing { // a full disk fails every second
					slog.Error("runs that are over cannot be closed", "error", err)
				}
				failing = err != nil
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

// show has Show serve at page, if there is one, until ctx ends, or stop, which waits
// for the end and gives its error. An end before that is told at once: what is received
// goes on being stored.
func (o Options) show(ctx context.Context, address string) (page string, stop func() error, err error) {
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

// Stored serves the questions about a folder that no collector runs on, at a free
// loopback port, until ctx ends. It gives the address.
func Stored(ctx context.Context, data string) (string, error) {
	kept, err := openStore(data, store.Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	s, err := serve.Listen("")
	if err != nil {
		return "", errors.Join(err, kept.Close())
	}
	c := newCollector(kept, nil, 0)
	rackfabv1.RegisterCollectorServiceServer(s, &service{store: kept, collector: c, readOnly: true})
	go func() {
		_ = s.Serve(ctx) // ends with ctx
		_ = kept.Close() // nothing was written
	}()
	return s.Address(), nil
}

package processes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/page"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// collectorData is the default data folder of a collector that is started by hand.
var collectorData = filepath.Join("runs", "collector")

// collectorFlags are the unparsed settings of a collector.
type collectorFlags struct {
	listen, data, maxSize, keepSlowest, forward, http, controller, tls string

	hosts   []string // of the page
	anyPort bool
}

func collectorCommand() *cobra.Command {
	var f collectorFlags
	var r role
	c := roleCommand(&r, "collector", "Be the collector: take OTLP over gRPC, keep it, answer questions about it", func(c *cobra.Command, ctx context.Context) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		f.tls = r.tls
		o.TLS, o.Metrics, o.Ready = r.who, r.metrics, c.OutOrStdout()
		return collector.Main(ctx, o)
	})
	client.TLSFlag(c, &r.tls)
	metricsFlag(c, &r.metrics)
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", collector.Listen, "address of the gRPC server: OTLP, CollectorService, health, reflection")
	flags.StringVar(&f.data, "data", collectorData, "folder of the store")
	flags.StringVar(&f.maxSize, "max-size", "2GB", "what the store may have on disk; the oldest run leaves first; 0 for no bound")
	flags.StringVar(&f.keepSlowest, "keep-slowest", "100%", "share of a flow's traces whose details are kept when the run is over, the slowest: 1%")
	flags.StringVar(&f.forward, "forward", "", "endpoint of OTLP that gets everything too: HOST:PORT, grpcs://HOST:PORT or http://HOST:PORT (default: none)")
	flags.StringVar(&f.http, "http", "127.0.0.1:8080", "address of the page, or off")
	flags.BoolVar(&f.anyPort, "any-port", false, "where --listen or --http is occupied, take a free port of its host")
	flags.StringVar(&f.controller, "controller", client.DefaultAddress, "HOST:PORT of the controller whose rack the page shows")
	flags.StringSliceVar(&f.hosts, "host", nil, "name that browsers may call the page by, beside those of loopback")
	return c
}

// options parses the flags. The error joins all faults.
func (f *collectorFlags) options() (collector.Options, error) {
	o := collector.Options{Listen: f.listen, Data: f.data, Forward: f.forward, HTTP: f.http, AnyPort: f.anyPort, Show: f.show}
	var faults []error
	size, err := unit.ParseBytes(f.maxSize)
	if err != nil {
		faults = append(faults, fmt.Errorf("--max-size: %w", err))
	}
	o.MaxSize = int64(size)
	if o.KeepSlowest, err = cli.ParseShare(f.keepSlowest); err != nil {
		faults = append(faults, fmt.Errorf("--keep-slowest %w", err))
	}
	if o.HTTP == telemetry.Off {
		o.HTTP = ""
	}
	for _, a := range []struct{ flag, address string }{{"listen", o.Listen}, {"http", o.HTTP}, {"controller", f.controller}} {
		if _, _, err := net.SplitHostPort(a.address); a.address != "" && err != nil {
			faults = append(faults, fmt.Errorf("--%s %q: want HOST:PORT", a.flag, a.address))
		}
	}
	return o, errors.Join(faults...)
}

// show serves the page of the collector's rack. If the page cannot be made, every
// request gets the error.
func (f *collectorFlags) show(ctx context.Context, l net.Listener, address string) error {
	p, err := newPage(pageFlags{controller: f.controller, collector: address, tls: f.tls, runs: "runs", hosts: f.hosts})
	if err != nil {
		return page.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}))
	}
	return page.Serve(ctx, l, p)
}

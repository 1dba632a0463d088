package processes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/page"
)

func collectorCommand() *cobra.Command {
	p := process{member: identity.Collector}
	o := collector.Options{}
	f := pageFlags{runs: "runs"}
	c := p.command(&cobra.Command{
		Use: "collector", Short: "Run the collector: receive OTLP, store it, answer queries, serve the web page",
		Example: "rackfab collector --data runs/collector --keep-slowest 1%",
	}, func(ctx context.Context, ready io.Writer) error {
		f.rack.TLS = p.tls
		o.TLS, o.Metrics, o.Ready, o.Show = p.who, p.metrics, ready, f.show
		return collector.Main(ctx, o)
	})
	flags := c.Flags()
	addressFlag(c, &o.Listen, "listen", collector.Listen, "HOST:PORT of the gRPC server: OTLP, CollectorService, health, reflection")
	addressFlag(c, &o.OTLPHTTP, "otlp-http", collector.ListenHTTP, "HOST:PORT of OTLP over HTTP (/v1/traces, /v1/metrics), or off")
	flags.StringVar(&o.Data, "data", filepath.Join("runs", "collector"), "folder of the store")
	cli.BytesFlag(c, &o.MaxSize, "max-size", "2GB", "maximum size of the store, which evicts the oldest runs; 0 for no limit")
	cli.ShareFlag(c, &o.KeepSlowest, "keep-slowest", "100%", "share of the slowest traces per flow whose details are kept after the run: 1%")
	flags.StringVar(&o.Forward, "forward", "", "OTLP endpoint to forward everything to: HOST:PORT, grpcs://HOST:PORT or http://HOST:PORT (default: none)")
	addressFlag(c, &o.HTTP, "http", pageAddress, "HOST:PORT of the web page, or off")
	flags.BoolVar(&o.AnyPort, "any-port", false, "if the port of --listen, --otlp-http or --http is in use, listen on a free port of the same host")
	addressFlag(c, &f.rack.Address, "controller", client.DefaultAddress, "HOST:PORT of the controller of the rack on the web page")
	f.hostFlag(c)
	return c
}

// addressFlag adds a flag with HOST:PORT, or "off" for "".
func addressFlag(c *cobra.Command, to *string, name, address, usage string) {
	cli.Var(c, name, "string", address, usage, func(text string) error {
		if *to = text; text == telemetry.Off || text == "" {
			*to = ""
			return nil
		}
		if _, _, err := net.SplitHostPort(text); err != nil {
			return fmt.Errorf("invalid address %q: must be HOST:PORT", text)
		}
		return nil
	})
}

// pageAddress is the default address of the web page.
const pageAddress = "127.0.0.1:8080"

// pageFlags are the settings of a web page.
type pageFlags struct {
	rack            client.Rack
	collector, runs string
	hosts           []string
}

// hostFlag adds the flag with the names of the page.
func (f *pageFlags) hostFlag(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.hosts, "host", nil, "name of the page for browsers, in addition to loopback")
}

func pageCommand() *cobra.Command {
	var f pageFlags
	var address string
	c := &cobra.Command{
		Use:     "page",
		Short:   "Serve the web page that shows and controls a rack, as its collector does",
		Example: "rackfab page --address 127.0.0.1:7000 --http 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := newPage(f)
			if err != nil {
				return err
			}
			return servePage(c, p, address)
		},
	}
	f.rack.AddFlags(c)
	c.Flags().StringVar(&f.collector, "collector", os.Getenv(client.CollectorVariable), "HOST:PORT of the collector; "+client.CollectorVariable+" sets the default (default: none)")
	c.Flags().StringVar(&address, "http", pageAddress, "HOST:PORT of the page")
	c.Flags().StringVar(&f.runs, "runs", "runs", "folder of finished runs")
	f.hostFlag(c)
	return c
}

// newPage returns the page of a rack. The page calls the rack as a client, whichever
// process serves it.
func newPage(f pageFlags) (*page.Page, error) {
	who, err := client.LoadTLS(f.rack.TLS, identity.Client)
	if err != nil {
		return nil, err
	}
	rack, err := controller.DialAs(f.rack.Address, who)
	if err != nil {
		return nil, err
	}
	o := page.Options{Fabric: rack.API(), Runs: f.runs, Hosts: f.hosts}
	if f.collector != "" {
		stored, err := collector.DialAs(f.collector, who)
		if err != nil {
			return nil, err
		}
		o.Collector = stored.API()
	}
	return page.New(o)
}

// servePage serves the page until the command is interrupted.
func servePage(c *cobra.Command, p *page.Page, address string) error {
	listener, err := new(net.ListenConfig).Listen(c.Context(), "tcp", address)
	if err != nil {
		p.Close()
		return fmt.Errorf("--http: %w", err)
	}
	if _, err := fmt.Fprintf(c.OutOrStdout(), "page at http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	return page.Serve(c.Context(), listener, p)
}

// show serves the page of the collector's rack. If the page cannot be created, every
// request gets the error.
func (f pageFlags) show(ctx context.Context, l net.Listener, address string) error {
	f.collector = address
	p, err := newPage(f)
	if err != nil {
		return page.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}))
	}
	return page.Serve(ctx, l, p)
}

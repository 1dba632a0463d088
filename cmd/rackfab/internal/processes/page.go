package processes

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/page"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// pageFlags are the settings of `rackfab page`.
type pageFlags struct {
	controller, collector, tls, runs, listen string

	hosts []string
}

func pageCommand() *cobra.Command {
	var f pageFlags
	c := &cobra.Command{
		Use:   "page",
		Short: "Show a rack on a page of the web, and steer it from there, as its collector does",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := newPage(f)
			if err != nil {
				return err
			}
			return servePage(c, p, f.listen)
		},
	}
	client.AddressFlag(c, &f.controller)
	c.Flags().StringVar(&f.collector, "collector", os.Getenv(client.CollectorVariable), "HOST:PORT of the collector; "+client.CollectorVariable+" sets the default (default: none)")
	client.TLSFlag(c, &f.tls)
	c.Flags().StringVar(&f.listen, "http", "127.0.0.1:8080", "address of the page")
	c.Flags().StringVar(&f.runs, "runs", "runs", "folder of finished runs")
	c.Flags().StringSliceVar(&f.hosts, "host", nil, "name that browsers may call the page by, beside those of loopback")
	return c
}

// newPage returns the page of a rack. The page calls the rack as a client, whichever
// process serves it.
func newPage(f pageFlags) (*page.Page, error) {
	who, err := client.Identity(f.tls)
	if err != nil {
		return nil, err
	}
	rack, err := controller.DialAs(f.controller, who)
	if err != nil {
		return nil, err
	}
	o := page.Options{Fabric: rack.API(), Runs: f.runs, Hosts: f.hosts}
	if f.collector != "" {
		told, err := collector.DialAs(f.collector, who)
		if err != nil {
			return nil, err
		}
		o.Collector = told.API()
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
	if _, err := fmt.Fprintf(c.OutOrStdout(), "the page is at http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	return page.Serve(c.Context(), listener, p)
}

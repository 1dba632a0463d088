package processes

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/page"
)

// pageAddress is the default address of the web page.
const pageAddress = "127.0.0.1:8080"

// pageFlags are the settings of a web page.
type pageFlags struct {
	rack            client.Rack
	collector, runs string
	hosts           []string
}

// hostFlag adds the flag with the names of the page.
func hostFlag(c *cobra.Command, hosts *[]string) {
	c.Flags().StringSliceVar(hosts, "host", nil, "name of the page for browsers, in addition to loopback")
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
	hostFlag(c, &f.hosts)
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

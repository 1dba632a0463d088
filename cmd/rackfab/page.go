package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/page"
)

// pageFlags say what the page shows and where.
type pageFlags struct {
	listen, runs string
	hosts        []string
}

func pageCommand() *cobra.Command {
	var f pageFlags
	c := calling("page", "Show the running rack on a page of the web, and steer it from there", cobra.NoArgs,
		func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
			return servePage(c, page.Options{Fabric: api, Runs: f.runs, Hosts: f.hosts}, f.listen)
		})
	c.Flags().StringVar(&f.listen, "http", "127.0.0.1:8080", "address of the page")
	c.Flags().StringVar(&f.runs, "runs", "runs", "folder of finished runs")
	c.Flags().StringSliceVar(&f.hosts, "host", nil, "name that browsers may call the page by, beside those of loopback")
	return c
}

// servePage serves the page until the command is interrupted.
func servePage(c *cobra.Command, o page.Options, address string) error {
	p, err := page.New(o)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(c.Context(), "tcp", address)
	if err != nil {
		p.Close()
		return fmt.Errorf("--http: %w", err)
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if _, err := fmt.Fprintf(c.OutOrStdout(), "the page is at http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	select {
	case err = <-ended:
	case <-c.Context().Done():
	}
	p.Close() // ends the streams, which Shutdown waits for
	limit, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), stopWait)
	defer cancel()
	return errors.Join(err, server.Shutdown(limit))
}

// Package client connects commands to a rack's controller and to a collector: flags,
// certificates, and errors reworded for users.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
)

// Environment variables with the defaults of --address, --collector and --tls.
const (
	AddressVariable   = "RACKFAB_ADDRESS"
	CollectorVariable = "RACKFAB_COLLECTOR"
	TLSVariable       = "RACKFAB_TLS"
)

// DefaultAddress is the default address of the controller of `rackfab up`, and of the
// commands that act on a rack.
const DefaultAddress = "127.0.0.1:7000"

// TLSFlag adds the flag with the folder of certificates for connections to a rack.
func TLSFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "tls", os.Getenv(TLSVariable),
		"`DIR` of rackfab certs, for mutual TLS with the rack (default: $"+TLSVariable+", or plain TCP)")
}

// LoadTLS loads the certificate of a member from the folder of --tls.
func LoadTLS(dir, member string) (*identity.TLS, error) {
	who, err := identity.Load(dir, member)
	if err != nil {
		return nil, fmt.Errorf("--tls: %w", err)
	}
	return who, nil
}

// Rack is the controller that the flags of a command name.
type Rack struct{ Address, TLS string }

// AddFlags adds the flags.
func (r *Rack) AddFlags(c *cobra.Command) {
	at := cmp.Or(os.Getenv(AddressVariable), DefaultAddress)
	c.Flags().StringVar(&r.Address, "address", at, "HOST:PORT of the controller; "+AddressVariable+" sets the default")
	TLSFlag(c, &r.TLS)
}

// Call calls do with the controller. It rewords errors for users.
func (r *Rack) Call(do func(rackfabv1.FabricServiceClient) error) error {
	if err := CheckAddress("controller", r.Address); err != nil {
		return err
	}
	who, err := LoadTLS(r.TLS, identity.Client)
	if err != nil {
		return err
	}
	rack, err := controller.DialAs(r.Address, who)
	if err != nil {
		return err
	}
	defer rack.Close()
	return rewordFor(do(rack.API()), "controller", r.Address,
		"`rackfab up` starts one; a controller with certificates requires --tls", "the rack may have ended with it")
}

// RackCommand makes c call do with the controller of a running rack.
func RackCommand(c *cobra.Command, do func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error) *cobra.Command {
	var r Rack
	c.RunE = func(c *cobra.Command, args []string) error {
		return r.Call(func(api rackfabv1.FabricServiceClient) error { return do(c, api, args) })
	}
	r.AddFlags(c)
	return c
}

// RackCall makes c call a method of the controller of a running rack, and print the response
// as text. request returns the request for the arguments of the command.
func RackCall[Q, A any](
	c *cobra.Command, method func(rackfabv1.FabricServiceClient, context.Context, *Q, ...grpc.CallOption) (*A, error),
	request func(args []string) (*Q, error), text func(*A) string,
) *cobra.Command {
	return RackCommand(c, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		q, err := request(args)
		if err != nil {
			return err
		}
		out, err := method(api, c.Context(), q)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), table.WrapFor(c.OutOrStdout(), text(out)))
		return err
	})
}

// Constant returns a function for RackCall that returns q whatever the arguments are.
func Constant[Q any](q *Q) func([]string) (*Q, error) {
	return func([]string) (*Q, error) { return q, nil }
}

// Collector is the collector that the flags of a command name, or the data folder of one
// that does not run.
type Collector struct{ Address, Data, TLS string }

// Call calls do with the collector. It rewords errors for users.
func (s Collector) Call(ctx context.Context, do func(rackfabv1.CollectorServiceClient) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	who, err := LoadTLS(s.TLS, identity.Client)
	if err != nil {
		return err
	}
	if s.Data != "" {
		if s.Address, err = collector.Stored(ctx, storeIn(s.Data)); err != nil {
			return err
		}
		who = nil
	}
	if err := CheckAddress("collector", s.Address); err != nil {
		return err
	}
	conn, err := collector.DialAs(s.Address, who)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // all calls are over
	return rewordFor(do(conn.API()), "collector", s.Address,
		"`rackfab up` starts one; a collector with certificates requires --tls; --data DIR reads stored data", "its stored data is not lost")
}

// storeIn returns the folder of the store in dir, which may be that of a run of
// `rackfab run --telemetry`.
func storeIn(dir string) string {
	inner := filepath.Join(dir, "telemetry")
	if info, err := os.Stat(inner); err == nil && info.IsDir() {
		return inner
	}
	return dir
}

// CollectorCommand makes c call do with a running collector, or with a data folder that
// no collector has open.
func CollectorCommand(c *cobra.Command, do func(c *cobra.Command, api rackfabv1.CollectorServiceClient, args []string) error) *cobra.Command {
	var s Collector
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.Call(c.Context(), func(api rackfabv1.CollectorServiceClient) error { return do(c, api, args) })
	}
	at := cmp.Or(os.Getenv(CollectorVariable), collector.Listen)
	c.Flags().StringVar(&s.Address, "collector", at, "HOST:PORT of the collector; "+CollectorVariable+" sets the default")
	c.Flags().StringVar(&s.Data, "data", "", "read this folder, of a collector's store or of a run with --telemetry, which no collector has open, instead of asking a collector")
	TLSFlag(c, &s.TLS)
	c.MarkFlagsMutuallyExclusive("collector", "data")
	return c
}

// NATS is an external bus.
type NATS struct{ URL, KeyFile string }

// AddFlags adds the flags.
func (n *NATS) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&n.URL, "nats-url", "", "an external NATS server instead of the embedded one, or several of a cluster, separated by commas: the first that answers")
	c.Flags().StringVar(&n.KeyFile, "nats-nkey", "", "file with the seed of an nkey of a user of the external NATS server")
}

// Access reads the rack's credentials for the external server.
func (n *NATS) Access() (access bus.Access, err error) {
	if n.KeyFile == "" {
		return access, nil
	}
	if n.URL == "" {
		return access, errors.New("--nats-nkey requires --nats-url")
	}
	if access.Key, err = identity.ReadKey(n.KeyFile); err != nil {
		return access, fmt.Errorf("--nats-nkey: %w", err)
	}
	return access, nil
}

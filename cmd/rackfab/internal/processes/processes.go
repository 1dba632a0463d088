// Package processes holds the commands that run one process of a rack each, and those
// that prepare and check processes: certs, compose, kubernetes, health.
package processes

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/spawn"
)

// process holds what the commands of all processes share.
type process struct {
	member    string // of the rack, by its name in an identity folder
	tls, nkey string
	metrics   string
	prepare   func() error // called before the files are read; may be nil
	run       func(ctx context.Context, ready io.Writer) error

	secrets spawn.Secrets // from the launcher, or from the files that the flags name
	who     *identity.TLS
}

// command makes c run the process until its launcher, if it has one, stops it.
func (p *process) command(c *cobra.Command, run func(ctx context.Context, ready io.Writer) error) *cobra.Command {
	p.run = run
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		var ctx context.Context
		if ctx, p.secrets, err = spawn.Child(c.Context()); err != nil {
			return err
		}
		if p.prepare != nil {
			if err := p.prepare(); err != nil {
				return err
			}
		}
		if p.who, err = client.LoadTLS(p.tls, p.member); err != nil {
			return err
		}
		if p.nkey != "" {
			if p.secrets.Access.Key, err = identity.ReadKey(p.nkey); err != nil {
				return fmt.Errorf("--nkey: %w", err)
			}
		}
		return p.run(ctx, c.OutOrStdout())
	}
	client.TLSFlag(c, &p.tls)
	c.Flags().StringVar(&p.metrics, "metrics-listen", "", "HOST:PORT of the Prometheus endpoint /metrics of the process (default: none)")
	return c
}

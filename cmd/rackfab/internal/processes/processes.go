// Package processes holds the commands that run one process of a rack each, and those
// that prepare and check processes: certs, compose, kubernetes, health.
package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/startup"
)

// process holds what the commands of all processes share.
type process struct {
	member    string // of the rack, by its name in an identity folder
	tls, nkey string
	wait      time.Duration
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
		if p.wait < 0 {
			return fmt.Errorf("--wait %v: must be 0 or a duration such as 30s", p.wait)
		}
		if p.prepare != nil {
			if err := awaitFiles(ctx, p.wait, "the files of --make", p.prepare); err != nil {
				return err
			}
		}
		if err := awaitFiles(ctx, p.wait, "the certificate of "+p.member+" in "+p.tls, p.loadTLS); err != nil {
			return err
		}
		if err := awaitFiles(ctx, p.wait, "the key file "+p.nkey, p.readKey); err != nil {
			return err
		}
		return p.run(ctx, c.OutOrStdout())
	}
	client.TLSFlag(c, &p.tls)
	c.Flags().DurationVar(&p.wait, "wait", startup.Limit, "time to wait at the start for each thing that the process needs and that may come later: the bus, certificates and keys; 0 for none")
	c.Flags().StringVar(&p.metrics, "metrics-listen", "", "HOST:PORT of the Prometheus endpoint /metrics of the process (default: none)")
	return c
}

// awaitFiles waits until read finds its files.
func awaitFiles(ctx context.Context, limit time.Duration, what string, read func() error) error {
	absent := func(err error) bool { return errors.Is(err, fs.ErrNotExist) }
	_, err := startup.Await(ctx, limit, what, absent, func() (struct{}, error) { return struct{}{}, read() })
	return err
}

// loadTLS loads the certificate of the process, if it has one.
func (p *process) loadTLS() (err error) {
	p.who, err = client.LoadTLS(p.tls, p.member)
	return err
}

// readKey reads the key of the process on the bus, if a flag names its file.
func (p *process) readKey() (err error) {
	if p.nkey == "" {
		return nil
	}
	if p.secrets.Access.Key, err = identity.ReadKey(p.nkey); err != nil {
		return fmt.Errorf("--nkey: %w", err)
	}
	return nil
}

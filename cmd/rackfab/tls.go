package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/identity"
)

// tlsVariable sets the default of --tls.
const tlsVariable = "RACKFAB_TLS"

// tlsFlag is the folder of certificates of a command that meets a rack.
func tlsFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "tls", os.Getenv(tlsVariable),
		"`DIR` of rackfab certs, for mutual TLS with the rack (default: $"+tlsVariable+", or plain TCP)")
}

// client reads the certificate of whoever calls a rack.
func client(dir string) (*identity.TLS, error) {
	return loadTLS(dir, identity.Client)
}

func loadTLS(dir, member string) (*identity.TLS, error) {
	who, err := identity.Load(dir, member)
	if err != nil {
		return nil, fmt.Errorf("--tls: %w", err)
	}
	return who, nil
}

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/identity"
)

// tlsVariable is the environment variable with the default of --tls.
const tlsVariable = "RACKFAB_TLS"

// tlsFlag adds the flag with the folder of certificates for connections to a rack.
func tlsFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "tls", os.Getenv(tlsVariable),
		"`DIR` of rackfab certs, for mutual TLS with the rack (default: $"+tlsVariable+", or plain TCP)")
}

// client loads the client certificate for calls to a rack.
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

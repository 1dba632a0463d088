package client

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/identity"
)

// TLSVariable is the environment variable with the default of --tls.
const TLSVariable = "RACKFAB_TLS"

// TLSFlag adds the flag with the folder of certificates for connections to a rack.
func TLSFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "tls", os.Getenv(TLSVariable),
		"`DIR` of rackfab certs, for mutual TLS with the rack (default: $"+TLSVariable+", or plain TCP)")
}

// Identity loads the client certificate for calls to a rack.
func Identity(dir string) (*identity.TLS, error) {
	return LoadTLS(dir, identity.Client)
}

func LoadTLS(dir, member string) (*identity.TLS, error) {
	who, err := identity.Load(dir, member)
	if err != nil {
		return nil, fmt.Errorf("--tls: %w", err)
	}
	return who, nil
}

package client

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
)

// NATSFlags adds the flags of an external bus.
func NATSFlags(c *cobra.Command, url, key *string) {
	c.Flags().StringVar(url, "nats-url", "", "an external NATS server instead of the embedded one")
	c.Flags().StringVar(key, "nats-nkey", "", "file with the seed of the nkey that the external NATS server lets in")
}

// NATSAccess reads the rack's credentials for the external server.
func NATSAccess(url, key string) (bus.Access, error) {
	if key == "" {
		return bus.Access{}, nil
	}
	if url == "" {
		return bus.Access{}, errors.New("--nats-nkey is for an external server: name it with --nats-url, or leave the key out")
	}
	k, err := identity.ReadKey(key)
	if err != nil {
		return bus.Access{}, fmt.Errorf("--nats-nkey: %w", err)
	}
	return bus.Access{Key: k}, nil
}

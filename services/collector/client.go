package collector

import (
	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Client talks to a collector.
type Client struct{ conn *grpc.ClientConn }

// DialAs gives a client of the collector at address, as who says; nil is plain TCP.
// The first call connects.
func DialAs(address string, who *identity.TLS) (*Client, error) {
	conn, err := serve.DialAs(address, who, identity.Collector)
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// API gives the calls.
func (c *Client) API() rackfabv1.CollectorServiceClient {
	return rackfabv1.NewCollectorServiceClient(c.conn)
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

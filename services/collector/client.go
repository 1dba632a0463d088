package collector

import (
	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Client is a client of a collector.
type Client struct{ conn *grpc.ClientConn }

// DialAs returns a client of the collector at address that authenticates as who; a nil
// who means plain TCP. The connection is made by the first call.
func DialAs(address string, who *identity.TLS) (*Client, error) {
	conn, err := serve.DialAs(address, who, identity.Collector)
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// API returns the client of CollectorService.
func (c *Client) API() rackfabv1.CollectorServiceClient {
	return rackfabv1.NewCollectorServiceClient(c.conn)
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/nats-io/nats-server/v2/server"
)

// clusterName is the name of every cluster: servers of other clusters are refused.
const clusterName = "rackfab"

// Cluster connects a server to others, so that a message reaches its subscribers at any of
// them. A server forwards only what another one has a subscriber for: messages between
// clients of one server stay there. The zero Cluster is none.
type Cluster struct {
	Listen string      // "host:port" for the other servers; "" for none
	Routes []string    // "host:port" of Listen of other servers, started or not; they learn of the rest from each other
	TLS    *tls.Config // mutual, of both ends of a connection between servers; nil is plain TCP
}

// join adds the cluster to the options of a server.
func (c Cluster) join(o *server.Options) error {
	if c.Listen == "" {
		if len(c.Routes) > 0 {
			return errors.New("bus: routes to other servers need an address for the cluster")
		}
		return nil
	}
	host, port, err := splitAddr(c.Listen)
	if err != nil {
		return fmt.Errorf("cluster address %q: %w", c.Listen, err)
	}
	var faults []error
	for _, r := range c.Routes {
		if _, _, err := net.SplitHostPort(r); err != nil {
			faults = append(faults, fmt.Errorf("route %q: must be HOST:PORT", r))
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: r})
	}
	o.Cluster = server.ClusterOpts{
		Name: clusterName, Host: host, Port: port, TLSConfig: c.TLS, TLSTimeout: startTimeout.Seconds(),
		Compression:  server.CompressionOpts{Mode: server.CompressionOff},
		PingInterval: pingInterval, MaxPingsOut: maxPings, WriteDeadline: o.WriteDeadline,
	}
	return errors.Join(faults...)
}

package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout is how long a server may take until it listens, in wall time.
const startTimeout = 10 * time.Second

// maxConnections is the largest number of clients of a server. A rack has up to 1024
// workers with one connection each.
const maxConnections = 4096

// Server is a NATS server inside this process.
type Server struct {
	s    *server.Server
	addr string
}

// Guard restricts access to a server to its users, and with TLS to clients with a
// certificate.
type Guard struct {
	Users []User
	TLS   *tls.Config // requires client certificates; nil is plain TCP
	Open  bool        // without Users, everybody may do everything, with TLS every client with a certificate
}

// StartServer starts a NATS server at addr, "host:port". With an empty addr the server
// chooses a loopback port; with port 0 it chooses a port of the given host. It installs
// no signal handlers, logs nothing and stores nothing. A guard that nobody could pass is
// an error.
func StartServer(addr string, g Guard) (*Server, error) {
	return StartInCluster(addr, g, Cluster{})
}

// StartInCluster is StartServer for a server of a cluster.
func StartInCluster(addr string, g Guard, c Cluster) (*Server, error) {
	o, err := serverOptions(addr, g)
	if err != nil {
		return nil, err
	}
	if err := c.join(o); err != nil {
		return nil, err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("bus server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		return nil, fmt.Errorf("bus server at %q does not listen", addr)
	}
	return &Server{s, s.Addr().String()}, nil
}

// serverOptions returns the options of a server of its own.
func serverOptions(addr string, g Guard) (*server.Options, error) {
	if len(g.Users) == 0 && g.TLS == nil && !g.Open {
		return nil, errors.New("bus: guard has neither users nor TLS and is not open, so no client could connect")
	}
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, fmt.Errorf("bus address %q: %w", addr, err)
	}
	return &server.Options{
		Host:          host,
		Port:          port,
		NoLog:         true,
		NoSigs:        true,
		MaxPayload:    MaxPayload,
		MaxConn:       maxConnections,
		MaxPending:    512 << 20,
		WriteDeadline: 30 * time.Second,
		Nkeys:         nkeyUsers(g.Users),
		TLS:           g.TLS != nil,
		TLSVerify:     g.TLS != nil,
		TLSConfig:     g.TLS,
		TLSTimeout:    startTimeout.Seconds(),
		AuthTimeout:   2 * startTimeout.Seconds(), // all members of a rack connect at once
	}, nil
}

func splitAddr(addr string) (host string, port int, err error) {
	if addr == "" {
		return "127.0.0.1", server.RANDOM_PORT, nil
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("port %q, want 0 to 65535", text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// Addr returns the address of the server, "127.0.0.1:4222", also after Shutdown.
func (s *Server) Addr() string { return s.addr }

// URL returns the URL for DialAs, "nats://127.0.0.1:4222".
func (s *Server) URL() string { return "nats://" + s.Addr() }

// ServerCounts holds the traffic counters of a server: of its clients and of the other
// servers of its cluster together, and of the latter alone.
type ServerCounts struct {
	Connections                      int
	InMessages, OutMessages          int64
	InBytes, OutBytes, SlowConsumers int64

	Servers                     int   // that it is connected to
	InFromServers, OutToServers int64 // messages
}

// Counts returns the traffic of the server so far.
func (s *Server) Counts() (ServerCounts, error) {
	v, err := s.s.Varz(nil)
	if err != nil {
		return ServerCounts{}, fmt.Errorf("bus server: %w", err)
	}
	return ServerCounts{
		v.Connections, v.InMsgs, v.OutMsgs, v.InBytes, v.OutBytes, v.SlowConsumers,
		v.Remotes, v.InMsgs - v.InClientMsgs, v.OutMsgs - v.OutClientMsgs,
	}, nil
}

// Shutdown stops the server and waits until its port is free.
func (s *Server) Shutdown() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

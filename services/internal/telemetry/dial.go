package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/startup"
)

// reconnectLimit is the maximum pause between connection attempts, so that a restarted
// collector soon receives the data of a live run.
const reconnectLimit = time.Second

// Await is Dial for the start of a process with a collector that may start later. In the
// background, it logs that the process waits for the collector, and after limit that it goes on
// without: a rack does not depend on what observes it.
func Await(ctx context.Context, limit time.Duration, address string, who *identity.TLS) (*grpc.ClientConn, error) {
	conn, err := Dial(address, who)
	if err != nil {
		return nil, err
	}
	go func() {
		_, err := startup.Await(ctx, limit, "the collector at "+address, func(err error) bool { return err == errAbsent }, func() (struct{}, error) { //nolint:errorlint // unwrapped
			return struct{}{}, reach(ctx, conn)
		})
		if errors.Is(err, errAbsent) {
			slog.Error("goes on without the collector: queues telemetry until it is reached, and drops what exceeds the queue", "error", err)
		}
	}()
	return conn, nil
}

// errAbsent means that an attempt to connect has failed.
var errAbsent = errors.New("no connection")

// reach makes one attempt to connect. A connection that was closed needs no more.
func reach(ctx context.Context, conn *grpc.ClientConn) error {
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready && state != connectivity.Shutdown; state = conn.GetState() {
		if state == connectivity.TransientFailure {
			return errAbsent
		}
		if !conn.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Dial returns a connection to the collector at address, "host:port", that authenticates
// as who; a nil who means plain TCP. It does not wait for the collector, which may
// start, stop and restart at any time.
func Dial(address string, who *identity.TLS) (*grpc.ClientConn, error) {
	secured := insecure.NewCredentials()
	if who != nil {
		secured = credentials.NewTLS(who.Client(""))
	}
	pause := backoff.DefaultConfig
	pause.BaseDelay, pause.MaxDelay = reconnectLimit/10, reconnectLimit
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(secured),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pause, MinConnectTimeout: reconnectLimit}),
	)
}

package telemetry

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rackfab/rackfab/identity"
)

// reconnectLimit is the maximum pause between connection attempts, so that a restarted
// collector soon receives the data of a live run.
const reconnectLimit = time.Second

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

package telemetry

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rackfab/rackfab/identity"
)

// reconnectLimit is the longest pause between two tries to reach a collector: one
// that is started again soon hears of the run that goes on.
const reconnectLimit = time.Second

// Dial opens a connection to the collector at address, "host:port", as who, nil for
// plain TCP. It does not wait for the collector: that may come, go and come again.
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

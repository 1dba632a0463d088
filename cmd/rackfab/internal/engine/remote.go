package engine

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// answerLimit bounds a health check. For a controller, it includes the time to start.
const answerLimit = 5 * time.Second

// remote is a running rack, reached through its controller.
type remote struct {
	*controller.Client
	address string
}

// newRemote returns an engine for the rack whose controller the flags name.
func newRemote(ctx context.Context, f Flags) (Engine, error) {
	address := f.Controller
	if err := client.CheckAddress("controller", address); err != nil {
		return nil, err
	}
	who, err := client.LoadTLS(f.TLS, identity.Client)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if err := health.Await(limit, address, who, identity.Controller); err != nil {
		return nil, fmt.Errorf("--controller: not reachable: %w", err)
	}
	there, err := controller.DialAs(address, who)
	if err != nil {
		return nil, fmt.Errorf("--controller %s: %w", address, err)
	}
	// The error of Close is irrelevant: all calls are over.
	end := func() { _ = there.Close() }
	return &rackEngine{rack: remote{there, address}, name: clientName(), end: end, telemetry: f.Telemetry}, nil
}

// clientName returns a prefix that makes the run names of this process unique.
func clientName() string {
	return fmt.Sprintf("%s-%d-", strconv.FormatInt(time.Now().UnixNano(), 36), os.Getpid())
}

// Run calls the controller and rewords its errors for users.
func (r remote) Run(ctx context.Context, q *controller.Request, progress func(*controller.Progress)) (*controller.Report, error) {
	report, err := r.Client.Run(ctx, q, progress)
	if err == nil {
		return report, nil
	}
	s := status.Convert(err)
	if s.Code() == codes.Unimplemented {
		return nil, fmt.Errorf("%s is not a controller: %s", r.address, s.Message())
	}
	return nil, fmt.Errorf("controller at %s: %s", r.address, s.Message())
}

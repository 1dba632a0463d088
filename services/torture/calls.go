package torture

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// tolerated are the codes of errors that a lost process may cause.
var tolerated = []codes.Code{codes.OK, codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.FailedPrecondition}

// Tolerate returns nil for those errors of a controller that a lost process may cause.
func Tolerate(err error) error {
	if slices.Contains(tolerated, status.Code(err)) {
		return nil
	}
	return err
}

// Status returns the status of a controller's run. It starts a run if there is none, and then returns
// nil, as it does if a lost process may be the reason why there is no answer. It returns an error if
// the run has failed.
func Status(ctx context.Context, api rackfabv1.FabricServiceClient, start *rackfabv1.StartRackRequest, o ...grpc.CallOption) (*rackfabv1.RackStatus, error) {
	out, err := api.GetStatus(ctx, &rackfabv1.GetStatusRequest{}, o...)
	if status.Code(err) == codes.FailedPrecondition { // no run, or none whose journal was saved
		_, err = api.StartRack(ctx, start, o...)
	}
	if err != nil {
		return nil, Tolerate(err)
	}
	now := out.GetStatus()
	if now.GetState() == rackfabv1.RackState_RACK_STATE_FAILED {
		return nil, fmt.Errorf("the run failed: node %s: %s", now.GetFailedNode(), now.GetFailure())
	}
	return now, nil
}

// Stop stops a run, which must be at end, and compares its digest with that of the lab.
func Stop(ctx context.Context, api rackfabv1.FabricServiceClient, end unit.Time, digest string, o ...grpc.CallOption) error {
	stopped, err := api.StopRack(ctx, &rackfabv1.StopRackRequest{}, o...)
	if err != nil {
		return err
	}
	j := stopped.GetJournal()
	if at := unit.Time(j.GetAtPs()); at != end {
		return fmt.Errorf("the run ended at %s, want %s", at, end)
	}
	return equal(j.GetDigest(), digest)
}

// equal compares the digest of a run with that of the lab.
func equal(got uint64, want string) error {
	if text := fmt.Sprintf("%016x", got); text != want {
		return fmt.Errorf("digest %s, the lab has %s", text, want)
	}
	return nil
}

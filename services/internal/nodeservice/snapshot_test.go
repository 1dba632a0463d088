package nodeservice

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A node without a run returns the error that says so.
func TestCallsWithoutARun(t *testing.T) {
	s := New(t.Context(), "h0", []topology.Node{{Name: "h0", Kind: topology.NIC}}, bus.NewMemory().Dial())
	n, w := &nicService{process: s}, &switchService{process: s}
	_, err1 := n.GetStats(t.Context(), &rackfabv1.NicServiceGetStatsRequest{})
	_, err2 := n.GetSettings(t.Context(), &rackfabv1.NicServiceGetSettingsRequest{})
	_, err3 := n.ListCommands(t.Context(), &rackfabv1.NicServiceListCommandsRequest{})
	_, err4 := w.GetStats(t.Context(), &rackfabv1.SwitchServiceGetStatsRequest{})
	_, err5 := w.GetSettings(t.Context(), &rackfabv1.SwitchServiceGetSettingsRequest{})
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

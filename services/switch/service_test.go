package switchd

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// process returns the process of a node.
func process(t *testing.T, name string, kind topology.NodeKind) *nodeservice.Service {
	return nodeservice.New(t.Context(), name, []topology.Node{{Name: name, Kind: kind}}, bus.NewMemory().Dial())
}

// A node without a run returns the error that says so.
func TestCallsWithoutARun(t *testing.T) {
	s := &service{process: process(t, "s0", topology.Switch)}
	_, err1 := s.GetStats(t.Context(), &rackfabv1.SwitchServiceGetStatsRequest{})
	_, err2 := s.GetSettings(t.Context(), &rackfabv1.SwitchServiceGetSettingsRequest{})
	for i, err := range []error{err1, err2} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// A process serves SwitchService if it has a node of the kind.
func TestRegister(t *testing.T) {
	for kind, want := range map[topology.NodeKind]bool{topology.Switch: true, topology.NIC: false} {
		server := grpc.NewServer()
		Register(server, process(t, "n", kind))
		if _, ok := server.GetServiceInfo()["rackfab.v1.SwitchService"]; ok != want {
			t.Errorf("a process of a %s serves SwitchService: %v", kind, ok)
		}
	}
}

package controller

import (
	"context"
	"strings"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// frozen is a controller that sends nothing, after one message in the run "begun".
type frozen struct {
	rackfabv1.UnimplementedFabricServiceServer
}

func (frozen) RunScenario(q *rackfabv1.RunScenarioRequest, s rackfabv1.FabricService_RunScenarioServer) error {
	if q.GetRunId() == "begun" {
		p := &rackfabv1.RunScenarioResponse_Progress{Progress: &rackfabv1.FabricProgress{}}
		if err := s.Send(&rackfabv1.RunScenarioResponse{Event: p}); err != nil {
			return err
		}
	}
	<-s.Context().Done()
	return nil
}

// A client whose controller falls silent during a run returns an error that says so. Before
// the run has begun, the controller may wait for nodes for longer.
func TestSilentControllerEndsTheCall(t *testing.T) {
	t.Parallel()
	server, err := serve.ListenAs("", nil, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rackfabv1.RegisterFabricServiceServer(server, frozen{})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- server.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	c, err := DialAs(server.Address(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.quiet = 2 * reportEvery
	limited, end := context.WithTimeout(t.Context(), 5*c.quiet)
	defer end()
	if _, err := c.Run(limited, &Request{RunId: "r"}, nil); err == nil || strings.Contains(err.Error(), "silent") {
		t.Errorf("before the run has begun: %v", err)
	}
	_, err = c.Run(t.Context(), &Request{RunId: "begun"}, nil)
	if err == nil || err.Error() != "the controller has been silent for more than 400ms: its process is frozen or cut off" {
		t.Errorf("got %v", err)
	}
}

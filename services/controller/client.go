package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Client talks to a controller.
type Client struct {
	conn  *grpc.ClientConn
	api   rackfabv1.FabricServiceClient
	quiet time.Duration // the longest silence of the controller during a run
}

// DialAs returns a client of the controller at address, "host:port". who is the
// identity of the client, nil for plain TCP. DialAs does not connect: an
// unreachable controller is an error of the first call.
func DialAs(address string, who *identity.TLS) (*Client, error) {
	conn, err := serve.DialAs(address, who, identity.Controller)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, api: rackfabv1.NewFabricServiceClient(conn), quiet: StallLimit}, nil
}

// API returns the generated client, with every call of the contract.
func (c *Client) API() rackfabv1.FabricServiceClient { return c.api }

// Change applies a change to a live run, at change.At or, if that is 0, at the earliest
// possible instant. It returns the fabric time at which the change takes effect.
func (c *Client) Change(ctx context.Context, change topology.Change) (unit.Time, error) {
	timed := changes.Write(&change)
	q := &rackfabv1.ApplyRequest{Change: timed.GetChange()}
	if change.At != 0 {
		q.AtPs = &timed.AtPs
	}
	out, err := c.api.Apply(ctx, q)
	return unit.Time(out.GetChange().GetAtPs()), err
}

// Close ends the connection and all calls on it.
func (c *Client) Close() error { return c.conn.Close() }

// Request describes a batch run.
type Request = rackfabv1.RunScenarioRequest

// Progress is the progress of a run.
type Progress = rackfabv1.FabricProgress

// Report is the outcome of a run.
type Report struct {
	Digest   uint64
	Progress *Progress    // at the end
	Nodes    []NodeReport // in the order of the scenario
	// Processes is the number of processes that ran the nodes.
	Processes int
	// Recoveries is the number of recoveries from the loss of processes.
	Recoveries int
}

// NodeReport is the result of one node.
type NodeReport struct {
	*rackfabv1.RunFinished
	Result *measure.NodeResult
	Notes  []fabric.Note // of the requested kinds, sorted by time
}

// Results returns the nodes' measurements, for measure.Merge.
func (r *Report) Results() []*measure.NodeResult {
	list := make([]*measure.NodeResult, len(r.Nodes))
	for i, n := range r.Nodes {
		list[i] = n.Result
	}
	return list
}

// Run runs a scenario on the controller's rack and returns its report. progress,
// if not nil, is called a few times a second. FailedNode returns the node that an error
// names. A controller that falls silent once the run has begun is an error.
func (c *Client) Run(ctx context.Context, q *Request, progress func(*Progress)) (*Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := c.api.RunScenario(ctx, q)
	if err != nil {
		return nil, err
	}
	out, noted := &Report{}, map[string][]fabric.Note{}
	s := silence{limit: c.quiet}
	s.heard()
	go s.watch(ctx, cancel)
	for ; ; s.wait() {
		message, err := stream.Recv()
		if s.heard(); err != nil {
			if silent := silenced(ctx); silent != nil {
				return nil, silent
			}
			return nil, err
		}
		switch event := message.GetEvent().(type) {
		case *rackfabv1.RunScenarioResponse_Progress:
			if progress != nil {
				progress(event.Progress)
			}
		case *rackfabv1.RunScenarioResponse_Notes:
			part, err := notes.Read(event.Notes)
			if err != nil {
				return nil, err
			}
			noted[event.Notes.GetNode()] = append(noted[event.Notes.GetNode()], part...)
		case *rackfabv1.RunScenarioResponse_Recovery:
			clear(noted)
		case *rackfabv1.RunScenarioResponse_Node:
			name, result := event.Node.GetNode(), &measure.NodeResult{}
			if err := json.Unmarshal(event.Node.GetFinished().GetResultJson(), result); err != nil {
				return nil, fmt.Errorf("result of node %s: %w", name, err)
			}
			out.Nodes = append(out.Nodes, NodeReport{event.Node.GetFinished(), result, noted[name]})
		case *rackfabv1.RunScenarioResponse_Report:
			out.Digest, out.Progress, out.Processes = event.Report.GetDigest(), event.Report.GetProgress(), int(event.Report.GetProcesses())
			out.Recoveries = int(event.Report.GetRecoveries())
			return out, nil
		}
	}
}

// Nodes returns the nodes that have announced themselves to the controller, sorted
// by name.
func (c *Client) Nodes(ctx context.Context) ([]*rackfabv1.NodeInfo, error) {
	list, err := c.api.ListNodes(ctx, &rackfabv1.ListNodesRequest{})
	if err != nil {
		return nil, err
	}
	return list.GetNodes(), nil
}

// FailedNode returns the name of the node that an error of Run names, "" if it
// names no node.
func FailedNode(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if name := serve.FailedNode(err); name != "" {
			return name
		}
	}
	return ""
}

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	conn *grpc.ClientConn
	api  rackfabv1.FabricServiceClient
}

// DialAs returns a client of the controller at address, "host:port". who is the
// identity of the client, nil for plain TCP. DialAs does not connect: an
// unreachable controller is an error of the first call.
func DialAs(address string, who *identity.TLS) (*Client, error) {
	conn, err := serve.DialAs(address, who, identity.Controller)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, api: rackfabv1.NewFabricServiceClient(conn)}, nil
}

// API returns the generated client, with every call of the contract.
func (c *Client) API() rackfabv1.FabricServiceClient { return c.api }

// Change applies a change to a live run and returns the fabric time at which it
// takes effect: the earliest possible, or change.At if at is true.
func (c *Client) Change(ctx context.Context, change topology.Change, at bool) (unit.Time, error) {
	timed := changes.Write(&change)
	q := &rackfabv1.ApplyRequest{Change: timed.GetChange()}
	if at {
		q.AtPs = &timed.AtPs
	}
	out, err := c.api.Apply(ctx, q)
	return unit.Time(out.GetChange().GetAtPs()), err
}

// Close ends the connection and all calls on it.
func (c *Client) Close() error { return c.conn.Close() }

// Request describes a batch run.
type Request struct {
	ID       string // 1 to 64 letters, digits, "-" and "_"
	Scenario []byte // YAML, less than 4 MiB
	Quiet    bool   // omit the notes of every frame
	// Telemetry selects what nodes with a collector export; nil disables export.
	Telemetry *rackfabv1.Telemetry
	// Notes are the kinds of notes that the nodes report, whatever Quiet says.
	Notes []fabric.Kind
}

// Progress is the progress of a run.
type Progress struct {
	Time      unit.Time // of the earliest pending event of any node; it never decreases
	FrameHops int64     // frames taken from links
	Envelopes int64     // messages sent on the bus
	Seconds   float64   // wall time since the start
}

// Report is the outcome of a run.
type Report struct {
	Digest uint64
	Progress
	Nodes []NodeReport // in the order of the scenario
}

// NodeReport is the result of one node.
type NodeReport struct {
	Result  *measure.NodeResult
	MaxRSS  int64 // largest resident set of the process in bytes, 0 if unknown
	Program int64 // of that, mapped from the program's file, which all processes share
	// Telemetry counts what the node exported and dropped; nil without a collector.
	Telemetry *rackfabv1.TelemetryCounts
	Notes     []fabric.Note // of the requested kinds, sorted by time
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
// if not nil, is called a few times a second. FailedNode returns the node that an
// error names.
func (c *Client) Run(ctx context.Context, q Request, progress func(Progress)) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.api.RunScenario(ctx, q.proto())
	if err != nil {
		return nil, err
	}
	var nodes []NodeReport
	noted := map[string][]fabric.Note{}
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		switch event := message.GetEvent().(type) {
		case *rackfabv1.RunScenarioResponse_Progress:
			if progress != nil {
				progress(fromProto(event.Progress))
			}
		case *rackfabv1.RunScenarioResponse_Notes:
			part, err := notes.Read(event.Notes)
			if err != nil {
				return nil, err
			}
			noted[event.Notes.GetNode()] = append(noted[event.Notes.GetNode()], part...)
		case *rackfabv1.RunScenarioResponse_Node:
			n, err := nodeReport(event.Node)
			if err != nil {
				return nil, err
			}
			n.Notes = noted[event.Node.GetNode()]
			nodes = append(nodes, n)
		case *rackfabv1.RunScenarioResponse_Report:
			return &Report{Digest: event.Report.GetDigest(), Progress: fromProto(event.Report.GetProgress()), Nodes: nodes}, nil
		}
	}
}

func (q *Request) proto() *rackfabv1.RunScenarioRequest {
	p := &rackfabv1.RunScenarioRequest{RunId: q.ID, Scenario: q.Scenario, Quiet: q.Quiet, Telemetry: q.Telemetry}
	for _, kind := range q.Notes {
		p.NoteKinds = append(p.NoteKinds, kind.String())
	}
	return p
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

func nodeReport(n *rackfabv1.NodeReport) (NodeReport, error) {
	f := n.GetFinished()
	result := &measure.NodeResult{}
	if err := json.Unmarshal(f.GetResultJson(), result); err != nil {
		return NodeReport{}, fmt.Errorf("result of node %s: %w", n.GetNode(), err)
	}
	return NodeReport{Result: result, MaxRSS: f.GetMaxRssBytes(), Program: f.GetProgramBytes(), Telemetry: f.GetTelemetry()}, nil
}

func fromProto(p *rackfabv1.FabricProgress) Progress {
	return Progress{
		Time: unit.Time(p.GetFabricTimePs()), FrameHops: p.GetFrameHops(), Envelopes: p.GetEnvelopes(), Seconds: p.GetSeconds(),
	}
}

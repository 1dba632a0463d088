package nodeservice

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/measure"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/runner"
)

func asReady(links int) *rackfabv1.RunResponse {
	ready := &rackfabv1.RunReady{Links: int32(links)}
	return &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Ready{Ready: ready}}
}

func asProgress(p runner.Progress) *rackfabv1.RunResponse {
	progress := &rackfabv1.RunProgress{FabricTimePs: int64(p.Next), FrameHops: p.Result.FrameHops, Envelopes: p.Result.Envelopes}
	return &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Progress{Progress: progress}}
}

// sendNotes sends the notes of the kinds that the config requests.
func (p *part) sendNotes(stream rackfabv1.NodeService_RunServer, node string) error {
	messages, err := p.excerpt.Messages(node)
	if err != nil {
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	for _, m := range messages {
		if err := stream.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Notes{Notes: m}}); err != nil {
			return err
		}
	}
	return nil
}

// faults returns the envelope faults that the loop and the link protocol counted.
func (r *result) faults() measure.EnvelopeFaults {
	return measure.EnvelopeFaults{
		Missed: r.Missed, Resent: r.Resent, Unpublished: r.Unpublished, Repeated: r.Repeated, Early: r.Early,
		Malformed: r.Malformed, Oversized: r.Oversized, OtherVersion: r.OtherVersion, Foreign: r.Foreign,
		Struck: r.struck,
	}
}

// message adds the counters of the loop to the measurement, and returns the message
// that reports both.
func (r *result) message(told *rackfabv1.TelemetryCounts) (*rackfabv1.RunResponse, error) {
	m := r.measured
	m.Digest, m.FrameHops, m.Envelopes, m.CPU = r.Digest, r.FrameHops, r.Envelopes, r.used.cpu.Seconds()
	m.EnvelopeFaults = r.faults()
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("result of node %s: %w", m.Node, err)
	}
	finished := &rackfabv1.RunFinished{
		Digest:     r.Digest,
		ResultJson: text,
		Progress: &rackfabv1.RunProgress{
			FabricTimePs: int64(r.end), FrameHops: r.FrameHops, Envelopes: r.Envelopes,
		},
		Resends:      r.Resent,
		CpuSeconds:   m.CPU,
		MaxRssBytes:  r.used.rss,
		ProgramBytes: r.used.program,
		Telemetry:    told,
	}
	return &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Finished{Finished: finished}}, nil
}

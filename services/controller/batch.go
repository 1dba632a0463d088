package controller

import (
	"fmt"
	"time"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// batch is what only a batch run has.
type batch struct {
	client rackfabv1.FabricService_RunScenarioServer
	end    unit.Time // of the run
	began  time.Time
	wall   time.Duration // once finished
	shown  unit.Time     // fabric time reported last
}

// show reports progress to the client. The reported fabric time never decreases.
func (b *batch) show(l *members) error {
	now := b.progress(l)
	if at := unit.Time(now.GetFabricTimePs()); at < b.end { // otherwise all remaining events are in flight between nodes
		b.shown = max(b.shown, at)
	}
	now.FabricTimePs = int64(b.shown)
	if err := b.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Progress{Progress: now}}); err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	return nil
}

// progress returns the progress of the rack: the members' least fabric time, and the
// sum of their hops and envelopes.
func (b *batch) progress(l *members) *rackfabv1.FabricProgress {
	wall := b.wall
	if wall == 0 {
		wall = time.Since(b.began)
	}
	sum := &rackfabv1.FabricProgress{FabricTimePs: int64(b.end), Seconds: wall.Seconds()}
	for _, m := range l.all {
		sum.FabricTimePs = min(sum.FabricTimePs, m.progress.GetFabricTimePs())
		sum.FrameHops += m.progress.GetFrameHops()
		sum.Envelopes += m.progress.GetEnvelopes()
	}
	return sum
}

// report sends the results of a finished run.
func (b *batch) report(l *members) error {
	for _, n := range l.nodes {
		event := &rackfabv1.RunScenarioResponse_Node{Node: &rackfabv1.NodeReport{Node: n.name, Finished: n.result}}
		if err := b.client.Send(&rackfabv1.RunScenarioResponse{Event: event}); err != nil {
			return err
		}
	}
	end := &rackfabv1.RunReport{Digest: l.digest(), Progress: b.progress(l), Processes: int32(len(l.all))}
	return b.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Report{Report: end}})
}

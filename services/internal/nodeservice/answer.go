package nodeservice

import (
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// liveAnswer returns the answer to a grant of a live run: of each node the captured
// packets, then the statistics. The loop calls it.
func (r *run) liveAnswer(end unit.Time, result *runner.Result) answer {
	r.export.reach(end)
	var events []*rackfabv1.RunResponse
	for i, n := range r.nodes {
		now := n.latest.Load()
		stats := n.stats(now)
		if i == 0 {
			stats.Bus, stats.Telemetry = r.busStats(result), r.export.counts()
		}
		reached := &rackfabv1.RunReached{
			UntilPs: int64(end), Digest: result.Nodes[i].Digest, Stats: stats, Progress: now.progress(),
		}
		events = append(events, n.captured()...)
		events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Reached{Reached: reached}})
	}
	return func() ([]*rackfabv1.RunResponse, error) { return events, nil }
}

// batchAnswer returns the answer to the grant of a batch run: of each node the notes that
// the config requests, then the result. The figures of the process are in the result of
// the first node. The loop calls it, and observes no notes after it. The answer waits for
// the export of telemetry.
func (r *run) batchAnswer(end unit.Time, result *runner.Result) answer {
	usage := used()
	r.export.finish(end)
	var results []*measure.NodeResult
	var all []*rackfabv1.RunFinished
	for i, n := range r.nodes {
		n.batch.recorder.Count(n.machine)
		m := n.batch.recorder.Result()
		m.Digest, m.FrameHops = result.Nodes[i].Digest, result.Nodes[i].FrameHops
		f := &rackfabv1.RunFinished{Node: n.name, Digest: m.Digest, Progress: n.latest.Load().progress()}
		if i == 0 {
			m.Envelopes, m.CPU, m.EnvelopeFaults = result.Envelopes, (usage.cpu - r.before.cpu).Seconds(), r.faultCounts(result)
			f.Resends, f.CpuSeconds, f.MaxRssBytes, f.ProgramBytes = result.Resent, m.CPU, usage.rss, usage.program
		}
		results, all = append(results, m), append(all, f)
	}
	return func() (events []*rackfabv1.RunResponse, err error) {
		r.export.close()
		all[0].Telemetry = r.export.counts()
		for i, f := range all {
			if f.ResultJson, err = json.Marshal(results[i]); err != nil {
				return nil, status.Errorf(codes.Internal, "result of node %s: %v", f.GetNode(), err)
			}
			messages, err := r.nodes[i].batch.excerpt.Messages(f.GetNode())
			if err != nil {
				return nil, status.Error(codes.ResourceExhausted, err.Error())
			}
			for _, n := range messages {
				events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Notes{Notes: n}})
			}
			events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Finished{Finished: f}})
		}
		return events, nil
	}
}

// faultCounts returns the faults of the envelopes of the process.
func (r *run) faultCounts(result *runner.Result) measure.EnvelopeFaults {
	return measure.EnvelopeFaults{
		Missed: result.Missed, Resent: result.Resent, Unpublished: result.Unpublished, Repeated: result.Repeated, Early: result.Early,
		Malformed: result.Malformed, Oversized: result.Oversized, OtherVersion: result.OtherVersion, Foreign: result.Foreign,
		Struck: r.envelopeFaults().Total(),
	}
}

// answer returns the messages that answer a grant.
type answer func() ([]*rackfabv1.RunResponse, error)

// advance publishes the progress of the loop, which calls it.
func (r *run) advance(next unit.Time, result *runner.Result) {
	r.export.show()
	r.takeSnapshots(next, result)
}

// reach answers a grant whose end the loop has reached. The loop calls it, and does not
// wait for the stream.
func (r *run) reach(end unit.Time, result *runner.Result) {
	r.reached = end
	r.takeSnapshots(end, result)
	reply := r.batchAnswer
	if r.live {
		reply = r.liveAnswer
	}
	select {
	case <-r.answers: // only a controller that does not wait leaves an answer behind
	default:
	}
	r.answers <- reply(end, result) // does not block: only the loop sends here
}

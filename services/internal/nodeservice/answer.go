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

// liveAnswer returns the answer to a grant of a live run: the captured packets, then
// the statistics. The loop calls it.
func (r *run) liveAnswer(now *snapshot) answer {
	r.export.reach(now.at)
	events := r.captured()
	reached := &rackfabv1.RunReached{
		UntilPs: int64(now.at), Digest: now.result.Nodes[0].Digest, Stats: r.stats(now), Progress: now.progress(),
	}
	events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Reached{Reached: reached}})
	return func() ([]*rackfabv1.RunResponse, error) { return events, nil }
}

// batchAnswer returns the answer to the grant of a batch run: the notes that the config
// requests, then the result. The loop calls it, and observes no notes after it. The
// answer waits for the export of telemetry.
func (r *run) batchAnswer(now *snapshot) answer {
	b, usage, result := r.batch, used(), &now.result
	b.recorder.Count(r.machine)
	r.export.finish(now.at)
	m := b.recorder.Result()
	m.Digest, m.FrameHops, m.Envelopes, m.CPU = result.Nodes[0].Digest, result.FrameHops, result.Envelopes, (usage.cpu - b.before.cpu).Seconds()
	m.EnvelopeFaults = measure.EnvelopeFaults{
		Missed: result.Missed, Resent: result.Resent, Unpublished: result.Unpublished, Repeated: result.Repeated, Early: result.Early,
		Malformed: result.Malformed, Oversized: result.Oversized, OtherVersion: result.OtherVersion, Foreign: result.Foreign,
		Struck: r.envelopeFaults().Total(),
	}
	finished := &rackfabv1.RunFinished{
		Digest: result.Nodes[0].Digest, Progress: now.progress(), Resends: result.Resent,
		CpuSeconds: m.CPU, MaxRssBytes: usage.rss, ProgramBytes: usage.program,
	}
	return func() (events []*rackfabv1.RunResponse, err error) {
		if finished.ResultJson, err = json.Marshal(m); err != nil {
			return nil, status.Errorf(codes.Internal, "result of node %s: %v", m.Node, err)
		}
		r.export.close()
		finished.Telemetry = r.export.counts()
		messages, err := b.excerpt.Messages(m.Node)
		if err != nil {
			return nil, status.Error(codes.ResourceExhausted, err.Error())
		}
		for _, n := range messages {
			events = append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Notes{Notes: n}})
		}
		return append(events, &rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Finished{Finished: finished}}), nil
	}
}

// answer returns the messages that answer a grant.
type answer func() ([]*rackfabv1.RunResponse, error)

// advance publishes the progress of the loop, which calls it.
func (r *run) advance(next unit.Time, result *runner.Result) {
	r.export.show()
	r.takeSnapshot(next, result)
}

// reach answers a grant whose end the loop has reached. The loop calls it, and does not
// wait for the stream.
func (r *run) reach(end unit.Time, result *runner.Result) {
	r.reached = end
	now := r.takeSnapshot(end, result)
	reply := r.liveAnswer
	if r.batch != nil {
		reply = r.batchAnswer
	}
	select {
	case <-r.answers: // only a controller that does not wait leaves an answer behind
	default:
	}
	r.answers <- reply(now) // does not block: only the loop sends here
}

package controller

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Apply applies a change to the live run.
func (s *service) Apply(ctx context.Context, q *rackfabv1.ApplyRequest) (*rackfabv1.ApplyResponse, error) {
	c, err := changes.Read(q.GetChange(), 0)
	if err != nil {
		return nil, err
	}
	if q.AtPs != nil && (q.GetAtPs() < 0 || q.GetAtPs() > int64(topology.LongestRun)) {
		return nil, serve.Invalid("at_ps", "%d, want an instant from 0 to %s", q.GetAtPs(), topology.LongestRun)
	}
	var out *rackfabv1.ApplyResponse
	saved := make(chan error, 1)
	err = s.call(func(r *run) error {
		if err := r.canAdvance(); err != nil {
			return err
		}
		c.At = r.clock.granted
		if q.AtPs != nil {
			c.At = unit.Time(q.GetAtPs())
		}
		if c.At < r.clock.granted {
			return passed(c.At, r.clock.granted)
		}
		timed, err := r.apply(c)
		if err != nil {
			return err
		}
		scenario := r.scenario
		out = &rackfabv1.ApplyResponse{Change: timed, Changes: int32(len(scenario.Changes))}
		r.unsaved.done = append(r.unsaved.done, func(err error) {
			if err == nil {
				last := len(scenario.Changes) - 1
				timed.Traceparent = s.options.calls.Changed(ctx, scenario, &scenario.Changes[last])
				r.called(last, timed.GetTraceparent())
			}
			saved <- err
		})
		return nil
	})
	if err == nil {
		err = <-saved
	}
	return out, err
}

// passed returns the error for an instant that has been granted already.
func passed(at, earliest unit.Time) error {
	text := fmt.Sprintf("%s has been granted already, the earliest possible instant is %s", at, earliest)
	return serve.Detailed(status.New(codes.FailedPrecondition, text), &errdetails.ErrorInfo{
		Reason: "INSTANT_PASSED", Domain: "rackfab", Metadata: map[string]string{"earliest_ps": strconv.FormatInt(int64(earliest), 10)},
	})
}

// apply adds a change to the run. commit writes it to the journal, before any grant.
func (r *run) apply(c topology.Change) (*rackfabv1.TimedChange, error) {
	if r.extender == nil {
		r.extender = scenariofile.NewExtender(r.scenario)
	}
	switch {
	case c.Verb == topology.ChangeBurst && c.Burst.Name == "":
		c.Burst.Name = r.extender.FreeName("burst")
	case c.Verb == topology.ChangePost && c.Post.Name == "":
		c.Post.Name = r.extender.FreeName(c.Post.Verb)
	}
	if size := r.sentBytes + proto.Size(changes.Write(&c)); size > maxChanges {
		return nil, status.Errorf(codes.ResourceExhausted, "the changes of the run, %d so far, would have %d bytes, want at most %d: start another run", len(r.scenario.Changes)-r.given, size, maxChanges)
	}
	next, err := r.extender.Extend(c)
	if err != nil {
		return nil, changes.Invalid(err)
	}
	if len(r.unsaved.done) == 0 {
		r.unsaved.before = r.scenario
	}
	timed := changes.Write(&next.Changes[len(next.Changes)-1])
	r.scenario = next
	r.unsent, r.sentBytes = append(r.unsent, timed), r.sentBytes+proto.Size(timed)
	return timed, nil
}

// maxChanges is the largest size of all changes of a live run, in bytes on the wire: some
// 23,000 bursts of 17 senders. If the run recovers, its first grant carries all of them, with
// trace contexts of at most their size again, and must be smaller than a request may be.
const maxChanges = serve.MaxRequest / 4

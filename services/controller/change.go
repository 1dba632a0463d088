package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
		if err == nil {
			timed.Traceparent = s.options.calls.Changed(ctx, r.scenario, &r.scenario.Changes[len(r.scenario.Changes)-1])
		}
		out = &rackfabv1.ApplyResponse{Change: timed, Changes: int32(len(r.scenario.Changes))}
		return err
	})
	return out, err
}

// passed returns the error for an instant that has been granted already.
func passed(at, earliest unit.Time) error {
	text := fmt.Sprintf("%s has been granted already, the earliest possible instant is %s", at, earliest)
	return serve.Detailed(status.New(codes.FailedPrecondition, text), &errdetails.ErrorInfo{
		Reason: "INSTANT_PASSED", Domain: "rackfab", Metadata: map[string]string{"earliest_ps": strconv.FormatInt(int64(earliest), 10)},
	})
}

// apply adds a change to the journal, then to the run.
func (r *run) apply(c topology.Change) (*rackfabv1.TimedChange, error) {
	switch {
	case c.Verb == topology.ChangeBurst && c.Burst.Name == "":
		c.Burst.Name = freeName(r.scenario, "burst")
	case c.Verb == topology.ChangePost && c.Post.Name == "":
		c.Post.Name = freeName(r.scenario, c.Post.Verb)
	}
	next, err := scenariofile.Extend(r.scenario, c)
	if err != nil {
		return nil, changes.Invalid(err)
	}
	before := r.scenario
	r.scenario = next
	if err := r.save(); err != nil {
		r.scenario = before
		return nil, status.Errorf(codes.Unavailable, "the change is not applied, because the journal cannot be written: %v", err)
	}
	timed := changes.Write(&next.Changes[len(next.Changes)-1])
	r.unsent = append(r.unsent, timed)
	return timed, nil
}

// freeName returns a name that begins with prefix and that no flow, burst or command
// uses.
func freeName(s *topology.Scenario, prefix string) string {
	for i := len(s.Changes); ; i++ {
		name := fmt.Sprintf("%s%d", prefix, i)
		taken := slices.ContainsFunc(s.Bursts, func(b topology.Burst) bool { return b.Name == name }) ||
			slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Name == name }) ||
			slices.ContainsFunc(s.Commands, func(c topology.Command) bool { return c.Name == name })
		if !taken {
			return name
		}
	}
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// join calls the members into a new attempt. Each attempt has a name of its own on the
// bus; to the collector all are one run.
func (r *run) join(ctx context.Context, announced []discovery.Hello) {
	r.config = proto.CloneOf(r.config) // earlier members may still read the other one
	r.config.RunId = r.service.name(r.id)
	r.members = newMembers(r.scenario, announced)
	r.config.Groups = r.members.groups()
	if t := r.config.GetTelemetry(); t != nil && t.GetRun() == "" {
		t.Run = r.config.GetRunId()
	}
	ctx, r.abandon = context.WithCancel(ctx)
	for _, m := range r.members.all {
		go m.receive(ctx, &r.service.options, r.config, r.members.events)
	}
	r.limit.Reset(r.service.options.NodeLimit)
}

// lost handles the loss of the member r.failed: the run recovers, or it has failed.
func (r *run) lost(ctx context.Context) error {
	switch {
	case r.clock.halted: // it has failed before
		return nil
	case r.mayRecover():
		return r.recover(ctx)
	case r.batch != nil || r.recovery.count == 0 && !r.members.allReady():
		return serve.NodeFailed(r.failed.name, r.failed.failure)
	}
	r.recovery.present = ""
	r.clock.halt()
	r.captures.end()
	return nil
}

// refusals are the errors of members that would come again in the next attempt.
var refusals = []codes.Code{codes.InvalidArgument, codes.ResourceExhausted, codes.Unimplemented}

// mayRecover reports whether the run may recover from the loss of r.failed.
func (r *run) mayRecover() bool {
	if slices.Contains(refusals, status.Code(r.failed.failure)) {
		return false
	}
	begun := r.recovery.count > 0 || r.members.allReady()
	return r.service.options.Recover > 0 && begun && !r.recovery.final && r.recovery.stuck[r.failed.name] < mostStuck
}

// recover makes all members leave, and waits until all nodes are there again.
func (r *run) recover(ctx context.Context) error {
	loss := serve.NodeFailed(r.failed.name, r.failed.failure)
	r.recovery.begin(r.failed.name, status.Convert(loss).Message(), r.furthest())
	r.abandon()
	for _, m := range r.members.all {
		if m.failure != nil {
			r.service.directory.Forget(m.name)
		}
	}
	lost := r.failed
	r.failed, r.members.ready, r.members.events = nil, 0, nil
	r.limit.Stop()
	r.service.recoveries.Add(1)
	go r.await(ctx, lost, nodeNames(r.scenario))
	if r.batch == nil {
		_ = r.save() // with the number of recoveries; the next change reports a failure
		return nil
	}
	event := &rackfabv1.RunRecovery{Node: lost.name, Cause: status.Convert(lost.failure).Message()}
	return r.batch.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Recovery{Recovery: event}})
}

// furthest returns the instant that the run has come to, at least.
func (r *run) furthest() unit.Time {
	if r.batch != nil {
		return r.batch.shown
	}
	return r.clock.reached
}

// await waits until all nodes have announced themselves, and then calls them into a new
// attempt. If they do not, the loss of the member lost is final; nil is the controller.
func (r *run) await(ctx context.Context, lost *member, nodes []string) {
	limited, cancel := context.WithTimeout(ctx, r.service.options.Recover)
	defer cancel()
	announced, err := r.service.directory.Wait(limited, nodes)
	select {
	case <-ctx.Done():
	case r.calls <- func() {
		if err == nil {
			r.join(ctx, announced)
			return
		}
		var missing *discovery.MissingError
		if lost == nil && errors.As(err, &missing) {
			lost = &member{name: missing.Names[0], failure: errors.New(r.recovery.present)}
		}
		r.recovery.final = true
		lost.failure = fmt.Errorf("%s; %w within %v", status.Convert(lost.failure).Message(), err, r.service.options.Recover)
		r.failed = lost
	}:
	}
}

// rejoined continues the run with nodes that are ready again: they execute a live run up to
// the instant that it had reached. A batch run has one grant, which has begun.
func (r *run) rejoined() {
	r.captures.changed = true
	for _, c := range r.captures.active {
		c.from = max(c.from, r.clock.reached) // the client has the packets before
	}
	r.unsent = r.allSent()
	switch {
	case r.batch != nil: // it has recovered once it has come further than at the loss
	case r.clock.reached == 0:
		r.recovery.again = false
		r.regrant()
	default:
		r.recovery.again = true
		r.give(r.clock.reached)
	}
}

// regrant ends the recovery of a live run. It gives the grant again that was lost, if any.
func (r *run) regrant() {
	r.recovered()
	if r.clock.granted > r.clock.reached {
		r.give(r.clock.granted)
	}
}

// caughtUp compares the digests of the nodes with those before the loss, once they have
// executed the run again. Another controller's journal has only that of the rack.
func (r *run) caughtUp() {
	r.recovery.again = false
	at, before := r.clock.reached, r.latest.GetStatus().GetDigest()
	for i, want := range r.recovery.digests {
		if n := r.members.nodes[i]; n.digest != want {
			r.inexact(n.member, fmt.Sprintf("at %s node %s has digest %016x, and had %016x", at, n.name, n.digest, want))
			return
		}
	}
	if got := r.members.digest(); got != before {
		r.inexact(r.members.all[0], fmt.Sprintf("at %s the rack has digest %016x, and had %016x", at, got, before))
		return
	}
	r.sumUp()
	r.regrant()
}

// inexact fails the run, because its nodes have not become what they were.
func (r *run) inexact(m *member, how string) {
	r.recovery.final = true
	r.fail(m, fmt.Errorf("recovery is not exact: %s before the loss", how))
}

// recovered ends the present recovery.
func (r *run) recovered() {
	if r.recovery.present != "" {
		r.service.options.calls.Recovered(r.scenario.Name, r.recovery.present, r.recovery.began)
		r.recovery.present = ""
	}
}

// called records the span in which a change was requested, "" for none. Changes come in
// the order of their indices.
func (r *run) called(change int, traceparent string) {
	if r.callers == nil {
		r.callers = map[int]string{}
	}
	if delete(r.callers, change-telemetry.MostCallers); traceparent != "" {
		r.callers[change] = traceparent
	}
}

// allSent returns the changes that are not in the config's scenario.
func (r *run) allSent() (list []*rackfabv1.TimedChange) {
	for i := r.given; i < len(r.scenario.Changes); i++ {
		c := changes.Write(&r.scenario.Changes[i])
		c.Traceparent = r.callers[i]
		list = append(list, c)
	}
	return list
}

package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Invalid calls are refused with the right code and field, and do not affect the run.
func TestInvalidCallsOfALiveRun(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	r.step(t, 50*unit.Microsecond)
	before := r.journal(t)
	api := r.API()
	burst := func(b *rackfabv1.Burst) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: b}}
	}
	sized := func(from, to string, size int64) *rackfabv1.Change {
		return burst(&rackfabv1.Burst{From: from, To: to, Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: size}})
	}
	set := func(key, value string) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: key, Value: value}}}
	}
	post := func(verb rackfabv1.PostVerb, from, to string, size int64, count int32) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Post{Post: &rackfabv1.Post{Verb: verb, From: from, To: to, SizeBytes: size, Count: count}}}
	}
	write := rackfabv1.PostVerb_POST_VERB_WRITE
	scheme := func(name, flows string) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: name, Flows: flows}}}
	}
	apply := func(c *rackfabv1.Change, at ...int64) func(context.Context) error {
		return func(ctx context.Context) error {
			q := &rackfabv1.ApplyRequest{Change: c}
			if len(at) > 0 {
				q.AtPs = &at[0]
			}
			_, err := api.Apply(ctx, q)
			return err
		}
	}
	for _, c := range []struct {
		name  string
		call  func(context.Context) error
		code  codes.Code
		field string
	}{
		{"no change", apply(nil), codes.InvalidArgument, "change"},
		{"unknown sender", apply(sized("h9", "r0", 1)), codes.InvalidArgument, "change.burst.from"},
		{"bad range", apply(sized("h2..h0", "r0", 1)), codes.InvalidArgument, "change.burst.from"},
		{"a switch sends", apply(sized("s0", "r0", 1)), codes.InvalidArgument, "change.burst.from"},
		{"unknown receiver", apply(sized("h1", "r7", 1)), codes.InvalidArgument, "change.burst.to"},
		{"no receiver", apply(sized("h1", "", 1)), codes.InvalidArgument, "change.burst.to"},
		{"to itself", apply(sized("h1", "h1", 1)), codes.InvalidArgument, "change.burst.to"},
		{"negative size", apply(sized("h1", "r0", -5)), codes.InvalidArgument, "change.burst.size_bytes"},
		{"size -1", apply(sized("h1", "r0", -1)), codes.InvalidArgument, "change.burst.size_bytes"},
		{"no size", apply(burst(&rackfabv1.Burst{From: "h1", To: "r0"})), codes.InvalidArgument, "change.burst.size_bytes"},
		{"huge size", apply(sized("h1", "r0", 1<<62)), codes.InvalidArgument, "change.burst.size_bytes"},
		{"negative flows", apply(burst(&rackfabv1.Burst{From: "h1", To: "r0", FlowsPerSender: -1})), codes.InvalidArgument, "change.burst.flows_per_sender"},
		{"no such class", apply(burst(&rackfabv1.Burst{From: "h1", To: "r0", TrafficClass: proto.Uint32(8), Volume: &rackfabv1.Burst_Endless{Endless: true}})), codes.InvalidArgument, "change.burst.traffic_class"},
		{"class of control frames", apply(burst(&rackfabv1.Burst{From: "h1", To: "r0", TrafficClass: proto.Uint32(6), Volume: &rackfabv1.Burst_Endless{Endless: true}})), codes.InvalidArgument, "change.burst.traffic_class"},
		{"bad name", apply(burst(&rackfabv1.Burst{Name: "a/b", From: "h1", To: "r0", Volume: &rackfabv1.Burst_Endless{Endless: true}})), codes.InvalidArgument, "change.burst.name"},
		{"name in use", apply(burst(&rackfabv1.Burst{Name: "F0", From: "h1", To: "r0", Volume: &rackfabv1.Burst_Endless{Endless: true}})), codes.InvalidArgument, "change.burst.name"},
		{"unknown flow", apply(&rackfabv1.Change{Verb: &rackfabv1.Change_StopFlow{StopFlow: "F9"}}), codes.InvalidArgument, "change.stop_flow"},
		{"no link", apply(&rackfabv1.Change{Verb: &rackfabv1.Change_LinkDown{LinkDown: "h0--r0"}}), codes.InvalidArgument, "change.link_down"},
		{"no link name", apply(&rackfabv1.Change{Verb: &rackfabv1.Change_LinkUp{}}), codes.InvalidArgument, "change.link_up"},
		{"a switch frozen", apply(&rackfabv1.Change{Verb: &rackfabv1.Change_Freeze{Freeze: "s0"}}), codes.InvalidArgument, "change.freeze"},
		{"unknown node", apply(&rackfabv1.Change{Verb: &rackfabv1.Change_Thaw{Thaw: "x1"}}), codes.InvalidArgument, "change.thaw"},
		{"fixed setting", apply(set("s0.buffer", "1MB")), codes.InvalidArgument, "change.set"},
		{"value without unit", apply(set("s0.xoff", "5")), codes.InvalidArgument, "change.set"},
		{"no key", apply(set("", "5")), codes.InvalidArgument, "change.set.key"},
		{"an invalid RTTX D", apply(set("s0.rttx_d", "4us")), codes.InvalidArgument, "change.set"},
		{"XON offset above XOFF", apply(set("s0.xoff", "1KB")), codes.InvalidArgument, "change.set.value"},
		{"no RDMA verb", apply(post(0, "h1", "r0", 1, 1)), codes.InvalidArgument, "change.post.verb"},
		{"an unknown RDMA verb", apply(post(77, "h1", "r0", 1, 1)), codes.InvalidArgument, "change.post.verb"},
		{"a post without a sender", apply(post(write, "", "r0", 1, 1)), codes.InvalidArgument, "change.post.from"},
		{"a post by a switch", apply(post(write, "s0", "r0", 1, 1)), codes.InvalidArgument, "change.post.from"},
		{"a post to an unknown node", apply(post(write, "h1", "h9", 1, 1)), codes.InvalidArgument, "change.post.to"},
		{"a post to itself", apply(post(write, "h0..h1", "h1", 1, 1)), codes.InvalidArgument, "change.post.to"},
		{"a post of size 0", apply(post(write, "h1", "r0", 0, 1)), codes.InvalidArgument, "change.post.size_bytes"},
		{"a post above 2^31", apply(post(write, "h1", "r0", 1<<31+1, 1)), codes.InvalidArgument, "change.post.size_bytes"},
		{"a post less than once", apply(post(write, "h1", "r0", 1, -1)), codes.InvalidArgument, "change.post.count"},
		{"too many posts", apply(post(write, "h1", "r0", 1, 1<<19)), codes.InvalidArgument, "change.post.count"},
		{"no scheme", apply(scheme("", "")), codes.InvalidArgument, "change.scheme.name"},
		{"an unknown scheme", apply(scheme("bbr", "")), codes.InvalidArgument, "change.scheme.name"},
		{"a scheme over another transport", apply(scheme("cbrc", "")), codes.InvalidArgument, "change.scheme.name"},
		{"a scheme of tables", apply(scheme("timely-rttx", "")), codes.InvalidArgument, "change.scheme.name"},
		{"flows of no pattern", apply(scheme("pfc", "h0")), codes.InvalidArgument, "change.scheme.flows"},
		{"flows that do not exist", apply(scheme("pfc", "x*->r0")), codes.InvalidArgument, "change.scheme.flows"},
		{"flows to itself", apply(scheme("pfc", "h0->h0")), codes.InvalidArgument, "change.scheme.flows"},
		{"an unknown group", apply(set("s0.qos.xoff", "96KB")), codes.InvalidArgument, "change.set"},
		{"negative instant", apply(sized("h1", "r0", 1), -1), codes.InvalidArgument, "at_ps"},
		{"instant after the end", apply(sized("h1", "r0", 1), 1<<62), codes.InvalidArgument, "at_ps"},
		{"instant granted", apply(sized("h1", "r0", 1), 7), codes.FailedPrecondition, ""},
		{"step of span 0", func(ctx context.Context) error { _, err := api.Step(ctx, &rackfabv1.StepRequest{}); return err }, codes.InvalidArgument, "span_ps"},
		{"step past the end", func(ctx context.Context) error {
			_, err := api.Step(ctx, &rackfabv1.StepRequest{SpanPs: 1 << 62})
			return err
		}, codes.InvalidArgument, "span_ps"},
		{"negative pace", func(ctx context.Context) error {
			_, err := api.SetPace(ctx, &rackfabv1.SetPaceRequest{PsPerSecond: -1})
			return err
		}, codes.InvalidArgument, "ps_per_second"},
		{"no pace", func(ctx context.Context) error { _, err := api.SetPace(ctx, &rackfabv1.SetPaceRequest{}); return err }, codes.InvalidArgument, "ps_per_second"},
		{"two paces", func(ctx context.Context) error {
			_, err := api.SetPace(ctx, &rackfabv1.SetPaceRequest{PsPerSecond: int64(unit.Millisecond), Unlimited: true})
			return err
		}, codes.InvalidArgument, "unlimited"},
		{"statistics of an unknown node", func(ctx context.Context) error {
			_, err := api.GetStats(ctx, &rackfabv1.GetStatsRequest{Nodes: "h77"})
			return err
		}, codes.InvalidArgument, "nodes"},
		{"settings of an unknown node", func(ctx context.Context) error {
			_, err := api.GetSettings(ctx, &rackfabv1.GetSettingsRequest{Nodes: "h77"})
			return err
		}, codes.InvalidArgument, "nodes"},
		{"a second rack", func(ctx context.Context) error {
			_, err := api.StartRack(ctx, &rackfabv1.StartRackRequest{RunId: "b", Scenario: []byte(looped)})
			return err
		}, codes.FailedPrecondition, ""},
		{"a batch run meanwhile", func(ctx context.Context) error {
			_, err := r.Run(ctx, &Request{RunId: "b", Scenario: []byte(looped)}, nil)
			return err
		}, codes.FailedPrecondition, ""},
		{"2 MiB", apply(set(strings.Repeat("x", 2<<20), "5")), codes.ResourceExhausted, ""},
		{"10 MiB", apply(set(strings.Repeat("x", 10<<20), "5")), codes.ResourceExhausted, ""},
	} {
		err := c.call(t.Context())
		if status.Code(err) != c.code {
			t.Errorf("%s: got %.300v, want %v", c.name, err, c.code)
		}
		if c.field != "" && serve.Violations(err)[c.field] == "" {
			t.Errorf("%s: want a violation of %s, got %v", c.name, c.field, serve.Violations(err))
		}
	}
	if after := r.journal(t); after.GetDigest() != before.GetDigest() || string(after.GetScenario()) != string(before.GetScenario()) {
		t.Error("refused calls changed the journal")
	}
	r.step(t, 50*unit.Microsecond)
	replayed(t, r.journal(t))
}

// An instant that has been granted already is refused with the earliest possible one,
// and a change at that one is accepted.
func TestEarliestInstant(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	r.step(t, 10*unit.Microsecond)
	at := int64(9 * unit.Microsecond)
	freeze := &rackfabv1.Change{Verb: &rackfabv1.Change_Freeze{Freeze: "h0"}}
	_, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: freeze, AtPs: &at})
	var earliest int64
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == "INSTANT_PASSED" {
			_, _ = fmt.Sscan(info.GetMetadata()["earliest_ps"], &earliest)
		}
	}
	if earliest != int64(10*unit.Microsecond) {
		t.Fatalf("earliest %d by %v", earliest, err)
	}
	if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: freeze, AtPs: &earliest}); err != nil {
		t.Fatal(err)
	}
}

// Without a live run, every call that needs one returns the error that says so.
func TestCallsWithoutALiveRun(t *testing.T) {
	r := newRig(t, NodeLimit)
	if _, err := r.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	if _, err := r.API().StopRack(t.Context(), &rackfabv1.StopRackRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
}

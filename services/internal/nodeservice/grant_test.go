package nodeservice

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

func live(name string) *rackfabv1.RunRequest {
	c := config(name, "live", pair)
	c.GetConfig().Live = true
	return c
}

func granted(until unit.Time, list ...*rackfabv1.TimedChange) *rackfabv1.RunRequest {
	return &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Grant{Grant: &rackfabv1.RunGrant{UntilPs: int64(until), Changes: list}}}
}

func frozen(at unit.Time, nics string) *rackfabv1.TimedChange {
	return &rackfabv1.TimedChange{AtPs: int64(at), Change: &rackfabv1.Change{Verb: &rackfabv1.Change_Freeze{Freeze: nics}}}
}

// reached reads up to the answer to a grant.
func reached(t *testing.T, stream rackfabv1.NodeService_RunClient) *rackfabv1.RunReached {
	t.Helper()
	for {
		if r := recv(t, stream).GetReached(); r != nil {
			return r
		}
	}
}

// Nodes advance to the end of a grant, apply the changes of the grant, and report
// their statistics there.
func TestGrants(t *testing.T) {
	m := bus.NewMemory()
	var streams []rackfabv1.NodeService_RunClient
	for _, name := range []string{"h0", "h1", "s0"} {
		kind := topology.NIC
		if name == "s0" {
			kind = topology.Switch
		}
		stream := start(t, name, kind, m.Dial()).open(t, live(name), goAhead())
		if recv(t, stream).GetReady() == nil {
			t.Fatal("not ready")
		}
		streams = append(streams, stream)
	}
	grant := func(step *rackfabv1.RunRequest) (all []*rackfabv1.RunReached) {
		for _, s := range streams {
			if err := s.Send(step); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range streams {
			all = append(all, reached(t, s))
		}
		return all
	}
	first := grant(granted(2 * unit.Microsecond))
	if h0 := first[0].GetStats(); h0.GetFlowsStarted() != 1 || h0.GetPorts()[0].GetSentBytes() == 0 || len(h0.GetFlows()) != 1 || h0.GetFrozen() {
		t.Errorf("h0 at 2us: %v", h0)
	}
	second := grant(granted(200*unit.Microsecond, frozen(3*unit.Microsecond, "h1")))
	if h1 := second[1].GetStats(); !h1.GetFrozen() || h1.GetDeliveredBytes() != 0 || h1.GetPorts()[0].GetDroppedFrames() == 0 {
		t.Errorf("h1, frozen before the first frame arrived: %v", h1)
	}
	if s0 := second[2].GetStats(); len(s0.GetPorts()) != 2 || s0.GetPorts()[0].GetCounters()["SAI_PORT_STAT_IF_IN_OCTETS"] == 0 {
		t.Errorf("s0: %v", s0)
	}
	if second[1].GetUntilPs() != int64(200*unit.Microsecond) || second[1].GetDigest() == first[1].GetDigest() {
		t.Errorf("h1 at 200us: %v", second[1])
	}
}

// A node in a live run sends its progress only as a sign of life: once a second. In a
// batch run it sends its progress more often than the controller shows it.
func TestLiveRunsSendLessProgress(t *testing.T) {
	n := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
	for _, c := range []struct {
		config *rackfabv1.RunRequest
		want   time.Duration
	}{{live("h0"), serve.BeatEvery}, {config("h0", "batch", pair), batchBeat}} {
		r, err := n.service.newRun(c.config.GetConfig())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.beatEvery(); got != c.want {
			t.Errorf("%s: a message every %v, want %v", c.config.GetConfig().GetRunId(), got, c.want)
		}
		r.close()
	}
}

// A node refuses an invalid impairment, before and after its start.
func TestInvalidImpairments(t *testing.T) {
	impair := func(i *rackfabv1.BusImpairment) *rackfabv1.RunRequest {
		return &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Impair{Impair: i}}
	}
	for name, test := range map[string]struct {
		steps []*rackfabv1.RunRequest
		code  codes.Code
	}{
		"above 1":      {[]*rackfabv1.RunRequest{goAhead(), impair(&rackfabv1.BusImpairment{Lose: 2})}, codes.InvalidArgument},
		"before start": {[]*rackfabv1.RunRequest{impair(&rackfabv1.BusImpairment{Lose: 2})}, codes.InvalidArgument},
		"no start":     {[]*rackfabv1.RunRequest{impair(&rackfabv1.BusImpairment{Lose: 0.5}), {}}, codes.FailedPrecondition},
	} {
		n := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
		if err := end(n.open(t, append([]*rackfabv1.RunRequest{live("h0")}, test.steps...)...)); status.Code(err) != test.code {
			t.Errorf("%s: got %v, want %v", name, err, test.code)
		}
	}
}

// A grant that goes back in time, or contains an invalid change, ends the run.
func TestInvalidGrants(t *testing.T) {
	for name, test := range map[string]struct {
		step *rackfabv1.RunRequest
		code codes.Code
	}{
		"back":            {granted(5), codes.FailedPrecondition},
		"change too late": {granted(100, frozen(5, "h0")), codes.FailedPrecondition},
		"unknown node":    {granted(100, frozen(50, "h9")), codes.InvalidArgument},
		"no verb":         {granted(100, &rackfabv1.TimedChange{AtPs: 50}), codes.InvalidArgument},
	} {
		n := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
		if err := end(n.open(t, live("h0"), goAhead(), granted(10), test.step)); status.Code(err) != test.code {
			t.Errorf("%s: got %v, want %v", name, err, test.code)
		}
	}
	n := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
	if err := end(n.open(t, config("h0", "batch", pair), goAhead(), granted(10))); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a grant in a batch run: %v", err)
	}
}

// A port of a running switch reports each traffic class separately: the frames that
// its queue marked, the PFC frames, and the instants of the first ones.
func TestPortStatsByClass(t *testing.T) {
	var p switching.PortStats
	p.Classes[3] = switching.ClassStats{SentFrames: 9, MarkedFrames: 4, PausesSent: 2, ResumesSent: 1, Onset: fabric.Onset{CE: 7, PauseSent: 8}}
	p.Classes[6] = switching.ClassStats{SentFrames: 5}
	var out rackfabv1.PortStats
	portStats(&p, &out)
	if len(out.GetClasses()) != 2 || out.GetMarkedFrames() != 4 {
		t.Fatalf("%v", &out)
	}
	data, control := out.GetClasses()[0], out.GetClasses()[1]
	want := map[string]uint64{"SAI_QUEUE_STAT_PACKETS": 9, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": 4, "SAI_PORT_STAT_PFC_3_TX_PKTS": 3}
	if diff := cmp.Diff(want, data.GetCounters()); diff != "" || data.GetClass() != 3 {
		t.Errorf("class %d: %s", data.GetClass(), diff)
	}
	if data.GetFirstCePs() != 7 || data.GetFirstPauseSentPs() != 8 || data.GetFirstPauseReceivedPs() != 0 {
		t.Errorf("onset: %v", data)
	}
	if control.GetClass() != 6 || control.GetCounters()["SAI_QUEUE_STAT_PACKETS"] != 5 || control.GetFirstCePs() != 0 {
		t.Errorf("%v", control)
	}
}

// A NIC reports the PAUSE frames that it received without the RESUME frames, as its switch
// reports those sent.
func TestPausesOfANIC(t *testing.T) {
	s, err := scenariofile.Parse("pair", []byte(pair))
	if err != nil {
		t.Fatal(err)
	}
	var n nic.Stats
	n.Priorities[3].TxPause, n.Priorities[3].RxPause, n.Priorities[3].RxResume = 1, 34, 34
	out := rackfabv1.NodeStats{Ports: []*rackfabv1.PortStats{{}}}
	nicStats(n, s, &out)
	if p := out.GetPorts()[0]; p.GetPausesSent() != 1 || p.GetPausesReceived() != 34 {
		t.Errorf("%v", p)
	}
}

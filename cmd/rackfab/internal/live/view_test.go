package live

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// rackAt returns a rack of two nodes at an instant, with the given bytes sent.
func rackAt(at, sent int64) *rackfabv1.WatchResponse {
	return &rackfabv1.WatchResponse{
		Status: &rackfabv1.RackStatus{Scenario: "x", Scheme: "pfc", State: rackfabv1.RackState_RACK_STATE_RUNNING, AtPs: at},
		Nodes: []*rackfabv1.NodeStats{
			{
				Node: "h0", Ports: []*rackfabv1.PortStats{{Peer: "s0", SentBytes: sent, PausesReceived: 9}}, FlowsStarted: 3, FlowsEnded: 1,
				Flows:   []*rackfabv1.FlowStats{{Name: "b/h0/0", RateBps: 1e9}, {Name: "F0", RateBps: 40e9, AckedBytes: 5000}},
				Notices: map[string]int64{"paused": 2},
			},
			{Node: "s0", Ports: []*rackfabv1.PortStats{{Peer: "h0", Down: true}, {Peer: "h1", QueueBytes: 64000, PausesSent: 7}}, Notices: map[string]int64{"paused": 1}},
		},
	}
}

// Links in trouble come first, then the others by queue, PAUSE and load. A load is the average since the
// last event.
func TestView(t *testing.T) {
	text := view(rackAt(1e9, 5000), rackAt(2e9, 10_000), 40)
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	text = strings.Join(lines, "\n")
	for _, want := range []string{
		"x under pfc: running at 2ms",
		"s0->h0 - 0B down 0 0\ns0->h1 0bps 64KB 0 7\nh0->s0 40Mbps 0B 9 0",
		"2 flows run, 1 have ended",
		"F0 h0 40Gbps 5KB\nb/h0/0 h0 1Gbps 0B",
		"events: paused 3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A single event has no earlier one: its loads are averages since instant 0, and are headed so.
func TestLoadsOfASingleEvent(t *testing.T) {
	for _, c := range []struct {
		was  *rackfabv1.WatchResponse
		want string
	}{{nil, "link mean load queue"}, {rackAt(0, 0), "link load queue"}} {
		text := strings.Join(strings.Fields(view(c.was, rackAt(1e9, 5000), 40)), " ")
		if !strings.Contains(text, c.want) || !strings.Contains(text, "h0->s0 40Mbps 0B") {
			t.Errorf("no %q in %s", c.want, text)
		}
	}
}

// The root of a congestion tree, whose queue is the longest, comes before the links that it paused.
func TestViewBeginsWithTheLongestQueue(t *testing.T) {
	event := rackAt(1e9, 1e4)
	event.Nodes[1].Ports = []*rackfabv1.PortStats{{Peer: "h0", Paused: true, PausesReceived: 5}, {Peer: "h1", Paused: true, QueueBytes: 5000}, {Peer: "r1", QueueBytes: 9000}, {Peer: "h2", PausesReceived: 7}}
	text := view(nil, event, 40)
	last := 0
	for _, link := range []string{"s0->r1", "s0->h1", "s0->h0", "h0->s0", "s0->h2"} {
		at := strings.Index(text, "\n"+link)
		if at < last {
			t.Errorf("%s is missing or too early in\n%s", link, text)
		}
		last = at
	}
}

// A view says how many links and flows it leaves out, and the most that a link among them has.
func TestViewCountsWhatItLeavesOut(t *testing.T) {
	event := rackAt(1e9, 1e4)
	for i := range 20 {
		event.Nodes[1].Ports = append(event.Nodes[1].Ports, &rackfabv1.PortStats{Peer: fmt.Sprintf("h%d", i+2), QueueBytes: int64(i+1) * 1000, PausesReceived: int64(i)})
		event.Nodes[0].Flows = append(event.Nodes[0].Flows, &rackfabv1.FlowStats{Name: fmt.Sprintf("b/h0/%d", i+1)})
	}
	text := view(nil, event, 20)
	for _, want := range []string{"\n13 more links: queues of up to 12KB, at most 11 PAUSE frames received\n", "\n17 more flows\n", "\ns0->h1 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, p := range event.Nodes[1].Ports {
		p.QueueBytes, p.PausesReceived = 0, 0
	}
	if text := view(nil, event, 20); !strings.Contains(text, "\n13 more links, without a queue or PAUSE\n") {
		t.Errorf("the other links have neither:\n%s", text)
	}
	if text := view(nil, rackAt(1e9, 1e4), 20); strings.Contains(text, " more ") {
		t.Errorf("nothing is left out:\n%s", text)
	}
}

// On a small terminal long lines are wrapped, and the row with the keys remains
// visible.
func TestScreenFitsTerminal(t *testing.T) {
	s := &screen{}
	event := rackAt(1e9, 1e4)
	event.Nodes[0].Notices = map[string]int64{}
	for i := range 12 {
		event.Nodes[0].Notices[fmt.Sprintf("kind-of-notice-%d", i)] = 1e9
	}
	for range 30 {
		event.Nodes[0].Ports = append(event.Nodes[0].Ports, event.Nodes[0].Ports[0])
	}
	s.Update(event)
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	lines := strings.Split(s.View().Content, "\n")
	if len(lines) > 24 || !strings.HasPrefix(lines[len(lines)-1], "q quits") {
		t.Errorf("%d rows:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(s.View().Content, "kind-of-notice-9 1000000000") {
		t.Error("the last notice is truncated")
	}
}

// The screen handles events as they arrive, and a key ends it.
func TestScreen(t *testing.T) {
	s := &screen{height: 40}
	if got := s.View().Content; got != "waiting for the rack" {
		t.Errorf("without an event: %q", got)
	}
	for _, at := range []int64{1e9, 2e9, 2e9} { // the clock is paused at the last one
		s.Update(rackAt(at, at/1e5))
	}
	if got := s.View().Content; !strings.Contains(got, "80Mbps") {
		t.Errorf("no load since the last event:\n%s", got)
	}
	s.Update(callFailed{errors.New("no such rack")})
	if got := s.View().Content; !strings.Contains(got, "no such rack") {
		t.Error("the error of the call is missing")
	}
	if _, quit := s.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); quit == nil || !s.quit {
		t.Error("q does not quit")
	}
}

// The view says why the rack does not advance, and for which processes it waits.
func TestViewSaysWhyNothingMoves(t *testing.T) {
	event := rackAt(1e9, 1e4)
	event.Status.Stalled = "stalled for 12 s: bus unreachable from h0"
	event.Status.Waits = []*rackfabv1.ProcessWait{
		{Process: "h0", AtPs: 1e6, StillMs: 12400, BusLost: true},
		{Process: "h1", AtPs: 2e6, StillMs: 12400, SilentMs: 3000},
		{Process: "h2", AtPs: 3e6, StillMs: 12400, SilentMs: 400, WaitsFor: "s0"},
	}
	want := ": running at 1ms, pace free, 0 nodes, 0 changes, 0 frame-hops, digest 0000000000000000\n" +
		"stalled for 12 s: bus unreachable from h0\n" +
		"  h0 at 1us: no progress for 12 s, bus unreachable\n" +
		"  h1 at 2us: no progress for 12 s, silent for 3 s\n" +
		"  h2 at 3us: no progress for 12 s, waits for s0\n\n"
	if text := view(nil, event, 40); !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	event.Status.FailedNode, event.Status.Stalled = "h1", "node h1 failed: gone"
	if text := view(nil, event, 40); strings.Count(text, "node h1 failed") != 1 {
		t.Errorf("a failure is not shown once:\n%s", text)
	}
}

// PCN-63: The status of a rack names its PFC deadlocks.
func TestStatusNamesDeadlocks(t *testing.T) {
	s := rackAt(1e9, 1e4).GetStatus()
	s.Deadlocks = []*rackfabv1.Deadlock{{Class: 3, Links: []string{"s0->s1", "s1->s0"}, SincePs: 94_354_400}}
	if text := statusText(s); !strings.HasSuffix(text, "\nPFC deadlock: s0->s1, s1->s0 in class 3, since 0.09435 ms") {
		t.Error(text)
	}
}

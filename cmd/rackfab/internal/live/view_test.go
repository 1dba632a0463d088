package live

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// rackAt returns a rack of two nodes at an instant, with the given bytes sent.
func rackAt(at, sent int64) *rackfabv1.WatchResponse {
	return &rackfabv1.WatchResponse{
		Status: &rackfabv1.RackStatus{Scenario: "x", Scheme: "pfc", State: rackfabv1.RackState_RACK_STATE_RUNNING, AtPs: at},
		Nodes: []*rackfabv1.NodeStats{
			{
				Node: "h0", Ports: []*rackfabv1.PortStats{{Peer: "s0", SentBytes: sent}}, FlowsStarted: 3, FlowsEnded: 1,
				Flows:   []*rackfabv1.FlowStats{{Name: "b/h0/0", RateBps: 1e9}, {Name: "F0", RateBps: 40e9, AckedBytes: 5000}},
				Notices: map[string]int64{"paused": 2},
			},
			{Node: "s0", Ports: []*rackfabv1.PortStats{{Peer: "h0", Down: true}, {Peer: "h1", QueueBytes: 64000, PausesSent: 7}}, Notices: map[string]int64{"paused": 1}},
		},
	}
}

// Links in trouble come first, then the others by load. A load is the average since the
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
		"s0->h0 0bps 0B down 0\nh0->s0 40Mbps 0B 0\ns0->h1 0bps 64KB 7",
		"2 flows run, 1 have ended",
		"F0 h0 40Gbps 5KB\nb/h0/0 h0 1Gbps 0B",
		"events: paused 3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
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

func TestLegible(t *testing.T) {
	for r, want := range map[unit.Rate]unit.Rate{0: 0, 999: 999, 1000: 1000, 24_847_187_545: 24_800_000_000, 9_996: 10_000, 40_000_000_000: 40_000_000_000} {
		if got := legible(r); got != want {
			t.Errorf("%s: %s, want %s", r, got, want)
		}
	}
}

package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
)

// halted returns a live run of the pair whose grant until 20us was given some ticks ago.
func halted(t *testing.T, ticks int) *run {
	t.Helper()
	s := parse(t, []byte(pair))
	var announced []discovery.Hello
	for _, n := range s.Nodes {
		announced = append(announced, discovery.Hello{Name: n.Name, Process: n.Name, Address: n.Name})
	}
	r := &run{service: &service{options: Options{Silence: 1 << 40, Stall: 1 << 40}}, scenario: s, members: newMembers(s, announced), clock: newClock(s.Duration)}
	for _, m := range r.members.all {
		m.ready = true
		r.members.ready++
	}
	r.clock.running = true
	r.clock.granted = 20 * unit.Microsecond
	r.members.grant()
	for range ticks {
		if err := r.tick(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// The status of a rack that does not advance says why: the bus, a silent process, the peer
// that a process waits for, a failed node, or the clock.
func TestStatusSaysWhyNothingMoves(t *testing.T) {
	at := func(m *member, p *rackfabv1.RunProgress) {
		m.silent, m.progress = 0, p
	}
	for want, arrange := range map[string]func(*run, []*member){
		"stalled for 12 s: waits for h0, h1, s0: silent for 12 s": func(*run, []*member) {},
		"stalled for 12 s: bus unreachable": func(_ *run, all []*member) {
			for _, m := range all {
				at(m, &rackfabv1.RunProgress{BusLost: true, WaitsFor: "s0"})
			}
		},
		"stalled for 12 s: bus unreachable from h1": func(_ *run, all []*member) { at(all[1], &rackfabv1.RunProgress{BusLost: true}) },
		"stalled for 12 s: waits for s0: silent for 3 s": func(_ *run, all []*member) {
			at(all[0], &rackfabv1.RunProgress{WaitsFor: "s0"})
			at(all[1], &rackfabv1.RunProgress{WaitsFor: "s0"})
			all[2].silent = 15
		},
		"stalled for 12 s: h0 waits for s0: no envelope for 9 s": func(r *run, all []*member) {
			at(all[0], &rackfabv1.RunProgress{FabricTimePs: 9e6, WaitsFor: "s0", WaitsMs: 9000})
			at(all[1], &rackfabv1.RunProgress{FabricTimePs: 8e6, WaitsFor: "s0", WaitsMs: 4100})
			r.members.answer(r.members.nodes[2], 1, &rackfabv1.RunProgress{FabricTimePs: 20e6})
		},
		"stalled for 12 s: waits for h0, which works at 7us": func(_ *run, all []*member) {
			at(all[0], &rackfabv1.RunProgress{FabricTimePs: 7e6})
			at(all[1], &rackfabv1.RunProgress{FabricTimePs: 8e6, WaitsFor: "s0"})
			at(all[2], &rackfabv1.RunProgress{FabricTimePs: 9e6, WaitsFor: "h0"})
		},
		"": func(r *run, all []*member) { // one process advances
			all[0].advances(&rackfabv1.RunProgress{FrameHops: 1})
		},
		"node h1 failed: gone": func(r *run, all []*member) { r.fail(all[1], errors.New("gone")) },
		"the end of fabric time is reached": func(r *run, _ []*member) {
			r.clock.granted, r.clock.reached = r.clock.end, r.clock.end
		},
		"paused: the clock has not been started": func(r *run, _ []*member) { r.clock = newClock(r.clock.end) },
		"paused by a user": func(r *run, _ []*member) {
			r.clock.reached = r.clock.granted
			r.clock.pause()
			r.clock.pause()
		},
		"paused at the end of a step": func(r *run, _ []*member) {
			r.clock.reached = r.clock.granted
			r.clock.pause()
			r.clock.step(unit.Microsecond)
			r.clock.granted += unit.Microsecond
			r.clock.reached = r.clock.granted
			r.clock.pause() // changes nothing
		},
	} {
		r := halted(t, 60)
		if strings.HasPrefix(want, "paused") {
			for _, m := range r.members.all {
				m.silent = 0
			}
		}
		arrange(r, r.members.all)
		got := r.status()
		if got.GetStalled() != want {
			t.Errorf("got %q, want %q", got.GetStalled(), want)
		}
		if overdue := strings.HasPrefix(want, "stalled"); overdue != (len(got.GetWaits()) > 0) {
			t.Errorf("%s: waits %v", want, got.GetWaits())
		}
	}
	if got := halted(t, overdue-1).status(); got.GetStalled() != "" || got.GetWaits() != nil {
		t.Errorf("before the grant is overdue: %v", got)
	}
}

// A paused rack, too, says that a process is silent.
func TestPausedRackNamesASilentProcess(t *testing.T) {
	r := halted(t, overdue)
	r.clock.reached = r.clock.granted
	for _, m := range r.members.all {
		m.silent = overdue - 1
	}
	if got := r.stalled(); got != "" {
		t.Errorf("without silence: %q", got)
	}
	r.members.all[1].silent = overdue
	if got, want := r.stalled(), "waits for a message from h1: silent for 2 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The status of a live run reports what the processes report, and the process that is
// silent.
func TestStatusNamesASilentProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, NodeLimit)
	beat := make(chan *rackfabv1.RunProgress)
	stuck := func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		if err := begin(s); err != nil {
			return err
		}
		for {
			select {
			case p := <-beat:
				if err := s.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Progress{Progress: p}}); err != nil {
					return err
				}
			case <-s.Context().Done():
				return nil
			}
		}
	}
	r.fake(t, "h0", stuck)
	r.fake(t, "h1", func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		defer func() { <-s.Context().Done() }()
		return begin(s)
	})
	r.fake(t, "s0", stuck)
	r.startRackWith(t, pair)
	if _, err := r.API().Resume(t.Context(), &rackfabv1.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	watch, err := r.API().Watch(t.Context(), &rackfabv1.WatchRequest{EveryMs: 50})
	if err != nil {
		t.Fatal(err)
	}
	for {
		event, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // either of the two processes
			select {
			case beat <- &rackfabv1.RunProgress{FabricTimePs: 3e6, WaitsFor: "h1", WaitsMs: 50}:
			case <-t.Context().Done():
			}
		}
		s := event.GetStatus()
		if s.GetFailedNode() != "" {
			t.Fatal(s)
		}
		if strings.HasSuffix(s.GetStalled(), "waits for h1: silent for 2 s") {
			if w := s.GetWaits(); len(w) != 3 || w[0].GetProcess() != "h1" || w[0].GetSilentMs() < 2000 || w[1].GetAtPs() != 3e6 || w[1].GetWaitsFor() == "" || w[1].GetSilentMs() >= 2000 {
				t.Errorf("waits %v", w)
			}
			break
		}
	}
}

package lab_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// retryAt returns link-layer retry at a port of a machine.
func retryAt(m fabric.Machine, port fabric.Port) *llr.Stats {
	if n, ok := m.(*nic.NIC); ok {
		return n.Stats().Retry
	}
	return m.(*switching.Switch).Stats().Ports[port].Retry
}

// links compares both ends of every direction: each numbered frame was taken by the peer, given
// up, or is held.
func (w *slowLab) links() error {
	for i := range w.s.Links {
		l := &w.s.Links[i]
		a, b := retryAt(w.machines[l.A], l.APort), retryAt(w.machines[l.B], l.BPort)
		for _, d := range [2][2]*llr.Stats{{a, b}, {b, a}} {
			from, to := d[0], d[1]
			open := int(from.Frames) - int(from.Discarded) - int(to.Receiver.Good)
			if open < 0 || open > from.HeldFrames {
				return fmt.Errorf("link %d: %d frames numbered, %d given up, %d taken, %d held", i, from.Frames, from.Discarded, to.Receiver.Good, from.HeldFrames)
			}
		}
	}
	return nil
}

// GET-12: on links that lose and damage frames, retry at the links delivers every frame of
// every scheme, once: no data, ACK, CNP or credit is lost on a link. At every instant each frame
// that a port has numbered was taken by the peer or is in the replay buffer. The lab records the
// same notes as the slow one.
func TestLinkRetryDeliversEveryFrame(t *testing.T) {
	replayed := uint64(0)
	onRandomRacks(t, retried, func(t rapid.TB, s *topology.Scenario) {
		w, end := newSlowLab(t, s), s.Duration
		for step := 0; ; step++ {
			e, _, ok := w.step(end)
			if !ok {
				break
			}
			if w.done == len(s.Flows) {
				end = min(end, w.now+100*unit.Microsecond)
			}
			for _, n := range w.out.Notes {
				if n.Kind == fabric.Dropped && n.Flow != fabric.NoFlow && !droppedInQueue(n.Reason()) {
					t.Fatalf("under %s, at %s, %s dropped a frame of flow %d: %s", s.Scheme, e.at, s.Nodes[e.node].Name, n.Flow, n.Reason())
				}
			}
			if step%7 == 0 {
				if err := w.links(); err != nil {
					t.Fatalf("under %s, at %s: %v", s.Scheme, e.at, err)
				}
			}
		}
		if w.done < len(s.Flows) {
			t.Fatalf("under %s: %d of %d flows done", s.Scheme, w.done, len(s.Flows))
		}
		for i := range s.Links {
			for _, end := range []*llr.Stats{retryAt(w.machines[s.Links[i].A], s.Links[i].APort), retryAt(w.machines[s.Links[i].B], s.Links[i].BPort)} {
				replayed += end.ReplayedFrames
			}
		}
		w.sameNotes(t, end)
	}, func() string {
		if replayed > 0 {
			return ""
		}
		return "nothing was replayed"
	})
}

// retried draws a rack whose links lose and damage frames, and retry them.
func retried(t *rapid.T) *topology.Scenario {
	s := flawed(t)
	for i := range s.Links {
		r := &s.Links[i].Retry
		r.On, r.Retries = true, llr.MaxRetries
	}
	return s
}

// droppedInQueue reports whether a switch has dropped a frame because of its queues or its buffer.
func droppedInQueue(r fabric.DropReason) bool {
	return r == fabric.DropHeadroom || r == fabric.DropBuffer || r == fabric.DropQueue || r == fabric.DropTrimmed
}

// A NIC that is frozen, and a link that is cut and mended, block a link with retry only until it
// is initialised again: every message completes.
func TestLinkRetryEndsAfterFreezeAndCut(t *testing.T) {
	s, err := scenariofile.Parse("retry.yaml", []byte(`
name: retry
duration: 20ms
bin: 20ms
scheme: dcqcn
defaults: {link: {rate: 40Gbps, delay: 1us, llr: true}, nic: {timeout: 200us}}
nics: {h0: , r0: }
switches: {s0..s1: }
links: [{endpoints: [h0, s0]}, {endpoints: [s0, s1]}, {endpoints: [s1, r0]}]
flows: [{name: F, from: h0, to: r0, size: 4MB}]
changes:
  - {at: 100us, freeze: r0}
  - {at: 300us, thaw: r0}
  - {at: 500us, link_down: s0--s1}
  - {at: 600us, link_up: s0--s1}
`))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	drops := map[fabric.DropReason]int{}
	done := false
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Kind == fabric.Dropped {
				drops[n.Reason()]++
			}
			done = done || n.Kind == fabric.Completed
		}
	}
	l.Run(s.Duration)
	if !done || drops[fabric.DropRetries] == 0 || drops[fabric.DropLinkDown] == 0 {
		t.Errorf("done %t, drops %v", done, drops)
	}
	stats := retryAt(l.Machine(nodeNamed(s, "s1")), 1)
	if stats.Flushes == 0 || stats.HeldFrames != 0 {
		t.Errorf("s1 to r0: %+v", stats)
	}
}

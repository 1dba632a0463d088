package lab_test

import (
	"cmp"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// failingRack is a rack of several paths with link-layer retry on every link, some of which lose
// and damage frames. One link of the rack, maybe of a host, goes down and comes up up to three
// times; switches detect that at once or later, maybe too late.
func failingRack(t *rapid.T) *topology.Scenario {
	s := manyPaths(t)
	rate := func(label string) float64 { return rapid.SampledFrom([]float64{0, 0, 0.01, 0.1}).Draw(t, label) }
	retries := rapid.SampledFrom([]int{1, 3, 255}).Draw(t, "retries")
	for i := range s.Links {
		l := &s.Links[i]
		l.Retry.On, l.Retry.Retries = true, retries
		for way := range l.Loss {
			l.Loss[way], l.Corrupt[way] = rate("loss"), rate("corrupt")
		}
	}
	link := s.LinkName(rapid.IntRange(0, len(s.Links)-1).Draw(t, "link"))
	s.Changes = nil
	at := unit.Time(0)
	for range rapid.IntRange(1, 3).Draw(t, "failures") {
		for _, verb := range [...]topology.ChangeVerb{topology.ChangeLinkDown, topology.ChangeLinkUp} {
			at += unit.Time(rapid.IntRange(1, 60_000).Draw(t, "later")) * unit.Nanosecond
			s.Changes = append(s.Changes, topology.Change{At: at, Verb: verb, Link: link})
		}
	}
	return s
}

// within compares the frames that came into each switch, or were made there, with those that
// left: numbered by retry, queued, or dropped.
func (w *slowLab) within() error {
	for i, m := range w.machines {
		s, ok := m.(*switching.Switch)
		if !ok {
			continue
		}
		in, left := uint64(0), uint64(0)
		for _, p := range s.Stats().Ports {
			in += p.Retry.Receiver.Good
			left += p.Retry.Frames
			for _, c := range p.Classes {
				in += c.OriginatedFrames
				left += c.QueueFrames + c.DroppedFrames
			}
		}
		if in != left {
			return fmt.Errorf("%d frames came into %s, %d left, are queued or were dropped", in, w.s.Nodes[i].Name, left)
		}
	}
	return nil
}

// noted compares the losses that machines and links count with the notes of them.
func (w *slowLab) noted(notes uint64) error {
	counted := uint64(0)
	sum := func(l fabric.Losses, r *llr.Stats) {
		counted += l.CutFrames + l.LostFrames + l.DamagedFrames + r.Discarded
	}
	for _, m := range w.machines {
		switch m := m.(type) {
		case *nic.NIC:
			n := m.Stats()
			sum(n.Losses, n.Retry)
		case *switching.Switch:
			for _, p := range m.Stats().Ports {
				sum(p.Losses, p.Retry)
				for _, c := range p.Classes {
					counted += c.DroppedFrames
				}
			}
		}
	}
	if notes != counted {
		return fmt.Errorf("%d losses are noted, and %d counted", notes, counted)
	}
	return nil
}

// GET-12, PATH-11: with link-layer retry, failures of a link lose no frame silently, whether it is
// replaying, giving up or idle when it fails, and whether the switch detects that at once, later,
// or not before the link is up again. At every instant each frame was taken by the peer, is in a
// replay buffer or a queue, or was dropped, once, with a note. Every message finishes, and in the
// end the replay buffers are empty. The lab records the same notes as the slow one.
func TestLinkRetrySurvivesFailures(t *testing.T) {
	flushes, replaying := 0, 0
	onRandomRacks(t, failingRack, func(t rapid.TB, s *topology.Scenario) {
		f, r := surviveFailures(t, s)
		flushes, replaying = flushes+f, replaying+r
	}, func() string {
		if flushes > 0 && replaying > 0 {
			return ""
		}
		return fmt.Sprintf("%d flushes, %d failures during a replay, want some of each", flushes, replaying)
	})
}

// surviveFailures runs the scenario in a slow lab until every flow is done and the links have
// settled, and checks it after every seventh event. It returns how many replay buffers were
// flushed, and how often a link failed during a replay.
func surviveFailures(t rapid.TB, s *topology.Scenario) (flushes, replaying int) {
	w, end := newSlowLab(t, s), s.Duration
	last := s.Changes[len(s.Changes)-1].At
	losses := uint64(0)
	for step := 0; ; step++ {
		e, arrived, ok := w.step(end)
		if !ok {
			break
		}
		if w.done == len(s.Flows) && end == s.Duration {
			end = max(w.now, last) + unit.Millisecond
		}
		for _, n := range w.out.Notes {
			if n.Kind == fabric.WentDown {
				if r := retryAt(w.machines[e.node], n.Port); r.ReplayedFrames > 0 && r.HeldFrames > 0 {
					replaying++
				}
			}
			if n.Kind == fabric.Dropped || n.Kind == fabric.Erred {
				losses++
			}
			if n.Kind == fabric.Dropped && n.Reason() == fabric.DropLinkDown && arrived != nil && arrived.Sequence != 0 {
				t.Fatalf("under %s, at %s: a frame is noted as dropped that its sender holds: %+v", s.Scheme, e.at, n)
			}
		}
		if step%7 != 0 {
			continue
		}
		if err := cmp.Or(w.links(), w.within(), w.noted(losses)); err != nil {
			t.Fatalf("under %s, at %s, after an event at %s: %v", s.Scheme, e.at, s.Nodes[e.node].Name, err)
		}
	}
	if w.done < len(s.Flows) {
		t.Fatalf("under %s: %d of %d flows done", s.Scheme, w.done, len(s.Flows))
	}
	for i := range s.Links {
		l := &s.Links[i]
		for _, r := range []*llr.Stats{retryAt(w.machines[l.A], l.APort), retryAt(w.machines[l.B], l.BPort)} {
			if r.HeldFrames != 0 {
				t.Fatalf("under %s: link %s holds %d frames", s.Scheme, s.LinkName(i), r.HeldFrames)
			}
			flushes += int(r.Flushes)
		}
	}
	w.sameNotes(t, end)
	return flushes, replaying
}

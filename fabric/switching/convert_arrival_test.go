package switching

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// RTTX-19, RTTX-22: a forward packet counts when it is received ([0047], [0049]),
// however long it waits then: here its class is paused, no packet has left, and the
// eight that have come in have ended their window.
func TestPacketsCountOnArrival(t *testing.T) {
	r := converting(t, nil)
	r.arrive(0, flowTo, pause(lossless, 60000))
	now := r.window(5)
	if got := len(r.sent(flowTo)); got != 0 {
		t.Fatalf("%d packets left a paused port", got)
	}
	if got := r.notes(fabric.LevelChanged); len(got) != 1 || got[0].At != now-slot || got[0].Level() != 3 {
		t.Errorf("level changes %+v, want one to 3 when the eighth packet was in, %s", got, now-slot)
	}
	// RTTX-30: the next return packet carries it, long before the pause ends.
	r.wantStamps(r.returned(now, answer()), stampSent, stampReceived+1000)
	// RTTX-23: the packets that wait have lost their CE already.
	r.arrive(now+2*us, flowTo, pause(lossless, 0))
	r.run(now + 10*us)
	r.wantMarks("--------")
}

// The counters of a switch show the state of the flow after each packet: of two windows
// of 5 and 3 marks, the eighth packet ends each.
func TestCountersOfTheConverter(t *testing.T) {
	r := converting(t, nil)
	now := r.window(5)
	r.returned(now, answer())
	for _, mark := range "MMM-----" {
		ecn := frame.ECT0
		if mark == 'M' {
			ecn = frame.CE
		}
		now += slot
		r.arrive(now, flowFrom, onward(0, ecn))
	}
	got := fabric.NonZero(r.Counters())
	for name, want := range map[string]uint64{
		"rttx_counted_packets": 16, "rttx_event_packets": 8, "rttx_severe_packets": 8, "rttx_slight_packets": 1,
		"rttx_rewritten_packets": 1, "rttx_untracked_packets": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
}

// slots returns the instants of the notes, in slots from us on.
func slots(notes []fabric.Note) (at []unit.Time) {
	for _, n := range notes {
		at = append(at, (n.At-us)/slot)
	}
	return at
}

// RTTX-18: the switch judges a packet by what the packet finds, at the instant at
// which it comes in.
func TestSwitchMarksOnArrival(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"queue":     func(c *Config) { c.RTTX.Judge, c.RTTX.Queue = rttx.JudgeQueue, 2*size },
		"occupancy": func(c *Config) { c.RTTX.Judge, c.RTTX.Occupancy = rttx.JudgeOccupancy, 3*size },
		"delay":     func(c *Config) { c.RTTX.Judge, c.RTTX.Delay = rttx.JudgeDelay, 2*slot },
		"marking law": func(c *Config) {
			c.Classes[lossless].Marking = cc.MarkRED
			c.Classes[lossless].RED = REDConfig{Kmin: 2*size - 1, Kmax: 2*size - 1}
		},
	} {
		// Pairs of packets come in, one of each pair leaves before the next: the packets
		// of pair n find n-1 and n packets waiting, those of the first pair none.
		r := converting(t, change)
		for i := range unit.Time(4) {
			for from := range 2 {
				r.arrive(us+i*slot, fabric.Port(1+from), onward(0, frame.ECT0))
			}
		}
		r.run(10 * us)
		events := r.notes(fabric.EventCounted)
		want := []unit.Time{1, 2, 2, 3, 3}
		if at := slots(events); !slices.Equal(at, want) {
			t.Errorf("%s: events after %v slots, want them after %v", name, at, want)
		}
	}
}

// NP-ECN does not mark frames that arrive during a pause; nor does the converter.
func TestNPECNMarkIsPredictedOnArrival(t *testing.T) {
	r := converting(t, func(c *Config) { c.Classes[lossless].Marking = cc.MarkNPECN })
	r.arrive(0, flowTo, pause(lossless, 60000))
	for range 4 {
		r.arrive(us, flowFrom, onward(0, frame.ECT0))
	}
	if got := r.Stats().Converter.Events; got != 0 {
		t.Errorf("%d events in a pause", got)
	}
	r.arrive(2*us, flowTo, pause(lossless, 0))
	for range 2 {
		r.arrive(2*us, flowFrom, onward(0, frame.ECT0))
	}
	if got := r.Stats().Converter.Events; got != 2 {
		t.Errorf("%d events, want the 2 packets that found others behind the pause", got)
	}
	// A counted frame is not marked, and PN decreases with each departure.
	r.run(10 * us)
	r.wantMarks("------")
	if got := r.ports[flowTo].npecn[lossless].paused; got != 0 {
		t.Errorf("PN is %d after the last frame", got)
	}
}

// A packet without buffer is not forwarded, and not counted.
func TestDroppedPacketsAreNotCounted(t *testing.T) {
	r := converting(t, func(c *Config) {
		c.Classes[lossless].Lossless = false
		c.Classes[lossless].XOFF, c.Classes[lossless].Headroom = 3*size, 0
	})
	for range 8 {
		r.arrive(us, flowFrom, onward(0, frame.CE))
	}
	r.run(10 * us)
	if drops, s := len(r.notes(fabric.Dropped)), r.Stats().Converter; drops == 0 || int(s.Forward) != 8-drops {
		t.Errorf("%d dropped, %d of 8 counted", drops, s.Forward)
	}
}

// RTTX-47: a flow whose packets wait is not silent, and one whose packets were lost
// with the link is.
func TestFlowOfWaitingPacketsDoesNotAge(t *testing.T) {
	r := converting(t, func(c *Config) { c.RTTX.Age = 20 * us })
	r.arrive(0, flowTo, pause(lossless, 60000))
	now := r.window(8)
	r.wantStamps(r.returned(now+100*us, answer()), stampSent, stampReceived+2000)
	r.Control(now+200*us, &fabric.Change{Verb: fabric.LinkDown, Port: flowTo}, &r.out)
	r.Control(now+201*us, &fabric.Change{Verb: fabric.LinkUp, Port: flowTo}, &r.out)
	r.wantStamps(r.returned(now+219*us, answer()), stampSent, stampReceived+2000)
	r.wantStamps(r.returned(now+220*us, answer()), stampSent, stampReceived)
}

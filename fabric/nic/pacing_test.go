package nic

import (
	"strconv"
	"testing"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// contend makes a NIC with the given IN tokens, and 1 more every microsecond, arbitrate by
// priority between an urgent command and a PUT without urgency. It returns the start of
// transmission of each.
func contend(t *testing.T, pacing shaper.Pacing, tokens unit.Bytes, urgent work.Command) (candidate, rival unit.Time) {
	t.Helper()
	b := newExchange(t, 3, func(c *Config) {
		c.Engine.Policy, c.Engine.Pacing = shaper.ByPriority, pacing
		c.Engine.In = shaper.Limit{Rate: 8 * unit.MegabitPerSec, Depth: 1040 + tokens}
	})
	b.post(0, get(0, 1000)) // takes 1040 tokens, and the link for 15.6 ns
	b.run(unit.Nanosecond)
	urgent.ID, urgent.Rank = 1, 7
	b.post(1, put(2, 100)) // its unit has the next turn
	b.post(2, urgent)
	b.run(unit.Millisecond)
	if len(b.done()) != 3 {
		t.Fatalf("done %v", b.done())
	}
	left := func(connection int) unit.Time {
		return b.from(0, func(f *frame.Frame) bool { return f.DstIP().Host() == 1+connection })[0].start
	}
	return left(2), left(1)
}

// GET-55: pacing decides by a command's type and the length of its response alone, and
// arbitration obeys that decision. The command that arbitration prefers is sent first,
// unless it is a data request whose response exceeds the tokens. Then it is sent when
// there are enough tokens, and the other command before it.
func TestArbitrationFollowsPacing(t *testing.T) {
	const tokens, header = 1000, 40
	sized := func(v work.Verb, size unit.Bytes) work.Command {
		return work.Command{Verb: v, Size: size}
	}
	for _, c := range []struct {
		command work.Command
		pacing  shaper.Pacing
		paced   unit.Bytes // missing tokens, 0 for a command that is not paced
	}{
		{sized(work.Get, 1), shaper.PacingBucket, 0},
		{sized(work.Get, tokens-header), shaper.PacingBucket, 0},
		{sized(work.Get, tokens-header+1), shaper.PacingBucket, 1},
		{sized(work.Get, tokens), shaper.PacingBucket, header},
		{sized(work.Get, tokens), shaper.PacingOff, 0},
		{sized(work.Put, tokens), shaper.PacingBucket, 0},
		{sized(work.Send, tokens), shaper.PacingBucket, 0},
		{sized(work.FetchAdd, work.AtomicSize), shaper.PacingBucket, 0},
		{sized(work.CompareSwap, work.AtomicSize), shaper.PacingBucket, 0},
	} {
		t.Run(c.command.Verb.String()+strconv.Itoa(int(c.command.Size))+string(c.pacing), func(t *testing.T) {
			candidate, rival := contend(t, c.pacing, tokens, c.command)
			if due := unit.Time(c.paced) * us; (c.paced > 0) != (rival < candidate) || candidate < due || candidate > due+us/2 || rival > us/2 {
				t.Errorf("the urgent command leaves at %v, the other at %v; %d tokens are missing", candidate, rival, c.paced)
			}
		})
	}
	for _, verb := range []work.Verb{work.Put, work.Send, work.FetchAdd, work.CompareSwap} {
		// Commands that request no data are not paced, even without any tokens.
		if candidate, rival := contend(t, shaper.PacingBucket, 0, sized(verb, work.AtomicSize)); candidate > rival {
			t.Errorf("%v: leaves at %v, after %v, without tokens", verb, candidate, rival)
		}
	}
}

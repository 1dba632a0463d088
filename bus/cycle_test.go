package bus

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// circle is three groups, each with a link to both others, and the messages under way.
type circle struct {
	groups [3]*Sync
	next   [3]unit.Time // event
	inbox  [3][]message
	draw   *rand.Rand
}

// message is an envelope from the peer with that index at the receiver.
type message struct {
	peer int
	data []byte
}

// newCircle draws the lookahead of each link and the order of everything from a seed.
func newCircle(t *testing.T, seed uint64) *circle {
	t.Helper()
	c := &circle{draw: rand.New(rand.NewPCG(seed, seed))}
	var links [3]unit.Time // from group i to the next one
	for i := range links {
		links[i] = unit.Microsecond + unit.Time(c.draw.Int64N(int64(unit.Microsecond/10)))
	}
	for i := range c.groups {
		peers := []PeerConfig{{Name: "next", Links: 1, Lookahead: links[i]}, {Name: "previous", Links: 1, Lookahead: links[(i+2)%3]}}
		var err error
		if c.groups[i], err = NewSync(7, peers, unit.Millisecond, 0); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// round is a round of the loop of group i. It has events in the first 50 us only.
func (c *circle) round(t *testing.T, i int) {
	t.Helper()
	g := c.groups[i]
	for n := c.draw.IntN(len(c.inbox[i]) + 1); n > 0; n-- {
		m := c.inbox[i][0]
		c.inbox[i] = c.inbox[i][1:]
		if err := g.Receive(m.peer, m.data, &arrived{}); err != nil {
			t.Fatal(err)
		}
	}
	for c.next[i] < g.Horizon(c.next[i]) {
		if c.next[i] += unit.Time(c.draw.Int64N(int64(3 * unit.Microsecond))); c.next[i] > 50*unit.Microsecond {
			c.next[i] = unit.Never
		}
	}
	g.Flush(c.next[i], func(peer int, data []byte) {
		to := (i + 1 + peer) % 3 // the next group or the previous one, for which this one is the other
		c.inbox[to] = append(c.inbox[to], message{1 - peer, bytes.Clone(data)})
	})
}

// ended reports whether all groups have come to their grant.
func (c *circle) ended() bool {
	for i, s := range c.groups {
		if !s.Reached(c.next[i]) {
			return false
		}
	}
	return true
}

// envelopes returns the number of envelopes of all groups.
func (c *circle) envelopes() (sum int64) {
	for _, s := range c.groups {
		sum += s.Counts().Envelopes
	}
	return sum
}

// Idle groups in a cycle come to their grant with a few envelopes per lookahead, in whatever order they
// run. They used to ask each other in turn for ever earlier instants, down from the grant by half a
// lookahead at a time, and began again at the grant after each answer.
func TestIdleCycleNeedsFewEnvelopes(t *testing.T) {
	const lookaheads, most = 1000, 10
	for seed := range uint64(50) {
		c := newCircle(t, seed)
		for !c.ended() && c.envelopes() <= most*lookaheads {
			c.round(t, c.draw.IntN(len(c.groups)))
		}
		if n := c.envelopes(); n > most*lookaheads {
			t.Errorf("seed %d: %d envelopes, and bounds of %s, %s and %s of 1 ms", seed, n, c.groups[0].Bound(), c.groups[1].Bound(), c.groups[2].Bound())
		}
	}
}

package bus

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The bound of a peer counts every frame that it has not taken, in whichever order frames
// of different links arrive: it equals that of a list of all frames.
func TestBoundCountsEveryUntakenFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const links = 3
		p := newPeer(PeerConfig{Links: links, Lookahead: 1})
		p.promise = unit.Never - 1
		type sealed struct {
			upTo   uint64
			frames []unit.Time
		}
		var kept []sealed
		var open []unit.Time
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				at := unit.Time(rapid.IntRange(1, 100).Draw(t, "arrival"))
				link := rapid.IntRange(0, links-1).Draw(t, "link")
				if s := &p.open.links[link]; len(s.frames) > 0 {
					at = max(at, s.tail)
				}
				p.put(link, &frame.Frame{Arrival: at})
				open = append(open, at)
			case 1:
				p.seal(1, 0)
				if len(open) > 0 {
					kept = append(kept, sealed{p.sent, open})
				}
				open = nil
			case 2:
				n := rapid.IntRange(0, len(kept)).Draw(t, "taken")
				if n > 0 {
					p.forget(kept[n-1].upTo)
					kept = kept[n:]
				}
			}
			want := p.promise
			for _, e := range append(kept[:len(kept):len(kept)], sealed{0, open}) {
				for _, at := range e.frames {
					want = min(want, at)
				}
			}
			if got := p.bound(); got != want+1 {
				t.Fatalf("bound %d, want %d", got, want+1)
			}
		}
	})
}

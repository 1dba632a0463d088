package traces

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// interval is a part of fabric time, in ps.
type interval struct{ from, to int64 }

// pauses returns when a port was paused, from how long it was paused in each bin. The sum
// is exact. Within a bin a pause adjoins that of the previous or of the next bin, if
// there is one, and otherwise begins with the bin.
func pauses(s *rackfabv1.Series, bin int64) (out []interval) {
	end := int64(-1) // of the latest pause
	for i, at := range s.GetTimesPs() {
		took, from := int64(s.GetValues()[i]), floor(at, bin)
		if took <= 0 {
			continue
		}
		next := i+1 < len(s.GetTimesPs()) && floor(s.GetTimesPs()[i+1], bin) == from+bin && s.GetValues()[i+1] > 0
		switch {
		case len(out) > 0 && end == from:
			out[len(out)-1].to += took
		case next:
			out = append(out, interval{from + bin - took, from + bin})
		default:
			out = append(out, interval{from, from + took})
		}
		end = out[len(out)-1].to
	}
	return out
}

// addPauses adds a thread with the pauses of a port.
func (c *chrome) addPauses(s *rackfabv1.Series) {
	bin := c.data.Run.GetBinPs()
	if bin <= 0 {
		return // the points do not say which time they cover
	}
	list := pauses(s, bin)
	if len(list) == 0 {
		return
	}
	tid := c.thread(s.GetNode(), fmt.Sprintf("port %d paused by %s", s.GetPort(), s.GetPeer()))
	for _, p := range list {
		c.slice(s.GetNode(), tid, "paused", "pause", p.from, p.to, map[string]any{"rackfab.paused_ps": p.to - p.from})
	}
}

// addQueue adds a counter with the longest egress queue of a port in each bin. A bin
// without a point has no queue.
func (c *chrome) addQueue(s *rackfabv1.Series) {
	bin := c.data.Run.GetBinPs()
	if bin <= 0 {
		return
	}
	name := fmt.Sprintf("queue to %s, maximum per %s", s.GetPeer(), unit.Time(bin))
	put := func(at int64, bytes float64) {
		c.events = append(c.events, chromeEvent{Name: name, Cat: "queue", Phase: "C", At: micros(at), PID: c.pids[s.GetNode()], Args: map[string]any{"bytes": bytes}})
	}
	after := floor(c.data.FromPs, bin) // end of the latest bin with a point
	for i, at := range s.GetTimesPs() {
		from := floor(at, bin)
		if from != after {
			put(after, 0)
		}
		put(from, s.GetValues()[i])
		after = from + bin
	}
	if len(s.GetTimesPs()) > 0 {
		put(after, 0)
	}
}

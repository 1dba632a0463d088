package collector

import (
	"context"
	"encoding/hex"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// followQueue is the maximum number of responses that wait for a slow follower.
const followQueue = 64

// hub sends stored data to followers. It is safe for concurrent use.
type hub struct {
	mu        sync.Mutex
	followers map[*follower]bool
	missed    atomic.Int64
}

// follower is one call of Follow.
type follower struct {
	q      *rackfabv1.FollowRequest
	out    chan *rackfabv1.FollowResponse
	missed int64 // guarded by hub.mu
}

func newHub() *hub { return &hub{followers: map[*follower]bool{}} }

// publish queues the responses to stored deliveries. A follower whose queue is full
// misses its response.
func (h *hub) publish(all []*store.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.followers {
		for _, d := range all {
			out := f.answer(d)
			if out == nil {
				continue
			}
			out.Missed = f.missed
			select {
			case f.out <- out:
				f.missed = 0
			default:
				f.missed++
				h.missed.Add(1)
			}
		}
	}
}

// answer returns the part of a delivery that the follower selected, or nil if there is
// none.
func (f *follower) answer(d *store.Delivery) *rackfabv1.FollowResponse {
	sel := f.q.GetSelect()
	if sel.GetRun() != "" && sel.GetRun() != d.Run.Run {
		return nil
	}
	out := &rackfabv1.FollowResponse{Run: d.Run.Run}
	for i := range d.Points {
		p := &d.Points[i]
		if (f.q.GetAllMetrics() || sel.GetMetric() != "") && store.Selected(sel, p.Series) {
			s := proto.CloneOf(p.Series)
			s.TimesPs, s.Values = p.Times, p.Values
			out.Series = append(out.Series, s)
		}
	}
	for i := range d.Spans {
		s := &d.Spans[i]
		if f.q.GetTraces() && s.Parent == 0 {
			out.Traces = append(out.Traces, &rackfabv1.TraceSummary{
				TraceId: hex.EncodeToString(s.Trace[:]), Run: d.Run.Run, Name: s.Name, Node: s.Node, Flow: s.Flow,
				StartPs: s.Start, DurationPs: s.End - s.Start, Spans: 1, Attributes: store.Attributes(s.Attributes),
			})
		}
	}
	if len(out.Series)+len(out.Traces) == 0 {
		return nil
	}
	return out
}

// serve sends responses to one follower until ctx ends.
func (h *hub) serve(ctx context.Context, q *rackfabv1.FollowRequest, send func(*rackfabv1.FollowResponse) error) error {
	f := &follower{q: q, out: make(chan *rackfabv1.FollowResponse, followQueue)}
	h.mu.Lock()
	h.followers[f] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.followers, f)
	}()
	for {
		select {
		case out := <-f.out:
			if err := send(out); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

package page

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Polling intervals of a rack.
const (
	watchedEvery = 33  // ms, while a viewer is connected
	idleEvery    = 250 // ms, without viewers: for the history
	retryEvery   = time.Second
)

// maxViewers is the maximum number of concurrent streams.
const maxViewers = 64

// feed follows a live rack and sends its state to viewers. A new frame replaces one that
// a viewer has not taken yet: a slow viewer costs the memory of one frame and misses
// frames.
type feed struct {
	mu      sync.Mutex
	ring    ring
	latest  *frame
	absence        // of a rack with frames
	process string // distinguishes this feed from those of other processes
	runs    int    // counts runs
	viewers map[*viewer]struct{}
	again   context.CancelCauseFunc // ends the stream of the rack, for another polling interval
	closed  bool
}

// viewer is one stream of events.
type viewer struct {
	ready  chan struct{} // holds a token while an update is ready
	update               // guarded by feed.mu
}

// absence says why there are no frames.
type absence struct {
	absent string // the reason, "" if there are frames
	since  int64  // when the last frames were lost, in ms since 1970 (wall clock); 0 if there were none
	up     bool   // a controller answers, but its clock has not started
}

// update is the set of changes that a viewer takes at once.
type update struct {
	frame *frame // nil for none
	absence
	run     string // ID of the run, unique among all processes
	changed bool   // the absence or run has changed since the previous update
	missed  int    // frames that were replaced
}

func newFeed() *feed {
	return &feed{process: newToken(), absence: absence{absent: "no controller"}, viewers: map[*viewer]struct{}{}, again: func(error) {}}
}

// follow watches the rack until ctx ends. It reconnects whenever a stream ends.
func (f *feed) follow(ctx context.Context, api rackfabv1.FabricServiceClient) {
	for ctx.Err() == nil {
		err := f.watch(ctx, api)
		if errors.Is(err, errOtherInterval) {
			continue
		}
		f.lose(status.Convert(err).Message(), false)
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// errOtherInterval means that a stream ended because another polling interval is needed.
var errOtherInterval = errors.New("polling interval changes")

// watch receives one stream. It polls faster while a viewer is connected.
func (f *feed) watch(ctx context.Context, api rackfabv1.FabricServiceClient) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	every := int32(idleEvery)
	f.mu.Lock()
	f.again = cancel
	if len(f.viewers) > 0 {
		every = watchedEvery
	}
	f.mu.Unlock()
	stream, err := api.Watch(ctx, &rackfabv1.WatchRequest{EveryMs: every})
	for err == nil {
		var w *rackfabv1.WatchResponse
		if w, err = stream.Recv(); err == nil {
			f.receive(w)
		}
	}
	if errors.Is(context.Cause(ctx), errOtherInterval) {
		return errOtherInterval
	}
	return err
}

// receive sends the state of the rack to the viewers unless it is unchanged.
func (f *feed) receive(w *rackfabv1.WatchResponse) {
	if len(w.GetNodes()) == 0 {
		f.lose("no time granted yet", true)
		return
	}
	next := newFrame(w)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.latest != nil && next.at < f.latest.at || f.absent != "" {
		f.ring = ring{}
		f.latest, f.absence = nil, absence{}
		f.runs++
		f.announce()
	}
	if f.latest != nil && string(f.latest.json) == string(next.json) {
		return
	}
	if f.latest == nil || next.at > f.latest.at {
		f.ring.add(next)
	}
	f.latest = &next
	for v := range f.viewers {
		if v.frame != nil {
			v.missed++
		}
		v.frame = &next
		signal(v.ready)
	}
}

// lose records that there are no frames, why, and whether a controller answers.
func (f *feed) lose(why string, up bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.absent == why && f.up == up {
		return
	}
	if f.absent == "" {
		f.since = time.Now().UnixMilli()
	}
	f.absent, f.up, f.latest = why, up, nil
	f.announce()
}

// run returns the ID of the run. Viewers reconnect to the process that follows this one, so
// that a count alone would not distinguish its runs from the earlier ones.
func (f *feed) run() string { return fmt.Sprintf("%s-%d", f.process, f.runs) }

// announce notifies all viewers of the run, or of its absence. The caller holds mu.
func (f *feed) announce() {
	for v := range f.viewers {
		v.update = update{absence: f.absence, run: f.run(), changed: true, missed: v.missed}
		signal(v.ready)
	}
}

// signal puts a token into a channel of capacity 1 unless it holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// join adds a viewer, which starts with the current state. It returns nil if there are
// too many viewers.
func (f *feed) join() *viewer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.viewers) == maxViewers {
		return nil
	}
	v := &viewer{ready: make(chan struct{}, 1), update: update{frame: f.latest, absence: f.absence, run: f.run(), changed: true}}
	signal(v.ready)
	if len(f.viewers) == 0 {
		f.again(errOtherInterval)
	}
	f.viewers[v] = struct{}{}
	return v
}

// leave removes a viewer.
func (f *feed) leave(v *viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.viewers, v)
	if len(f.viewers) == 0 {
		f.again(errOtherInterval)
	}
}

// next takes the update of a viewer.
func (f *feed) next(v *viewer) update {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := v.update
	v.frame, v.changed, v.missed = nil, false, 0
	return out
}

// history returns the recorded frames of the run between two instants in ps, both
// included, as many as fit in an answer.
func (f *feed) history(from, to int64) []frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ring.between(from, to)
}

// close ends the streams of all viewers.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for v := range f.viewers {
		close(v.ready)
		delete(f.viewers, v)
	}
}

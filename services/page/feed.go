package page

import (
	"context"
	"errors"
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
	absent  string // why there is no rack, "" if there is one
	epoch   int    // counts runs
	viewers map[*viewer]struct{}
	wake    chan struct{} // signals that the first viewer has joined or the last one left
	closed  bool
}

// viewer is one stream of events.
type viewer struct {
	ready chan struct{} // holds a token while an event is ready
	// Guarded by feed.mu:
	next    *frame // nil if already taken
	absent  string
	epoch   int
	changed bool // absent or epoch has changed
	missed  int  // frames that were replaced
}

func newFeed() *feed {
	return &feed{absent: "no controller", viewers: map[*viewer]struct{}{}, wake: make(chan struct{}, 1)}
}

// follow watches the rack until ctx ends. It reconnects whenever a stream ends.
func (f *feed) follow(ctx context.Context, api rackfabv1.FabricServiceClient) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for ctx.Err() == nil {
		err := f.watch(ctx, api)
		if errors.Is(err, errOtherPace) {
			continue
		}
		f.leave(status.Convert(err).Message())
		pause.Reset(retryEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// errOtherPace means that a stream ended because another polling interval is needed.
var errOtherPace = errors.New("another pace is wanted")

// watch receives one stream. It polls faster while a viewer is connected.
func (f *feed) watch(ctx context.Context, api rackfabv1.FabricServiceClient) error {
	ctx, cancel := context.WithCancelCause(ctx)
	looked := f.looked()
	every := int32(idleEvery)
	if looked {
		every = watchedEvery
	}
	var attending sync.WaitGroup // ends before the next stream, so that it takes none of its tokens
	defer attending.Wait()
	defer cancel(nil)
	attending.Go(func() {
		for {
			select {
			case <-f.wake:
				if f.looked() != looked {
					cancel(errOtherPace)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	stream, err := api.Watch(ctx, &rackfabv1.WatchRequest{EveryMs: every})
	for err == nil {
		var w *rackfabv1.WatchResponse
		if w, err = stream.Recv(); err == nil {
			f.take(w)
		}
	}
	if errors.Is(context.Cause(ctx), errOtherPace) {
		return errOtherPace
	}
	return err
}

func (f *feed) looked() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.viewers) > 0
}

// take sends the state of the rack to the viewers unless it is unchanged.
func (f *feed) take(w *rackfabv1.WatchResponse) {
	if len(w.GetNodes()) == 0 {
		return // no time granted yet
	}
	next := newFrame(w)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.latest != nil && next.at < f.latest.at || f.absent != "" {
		f.ring.clear()
		f.latest, f.absent = nil, ""
		f.epoch++
		f.tellAll()
	}
	if f.latest != nil && string(f.latest.json) == string(next.json) {
		return
	}
	if f.latest == nil || next.at > f.latest.at {
		f.ring.add(next)
	}
	f.latest = &next
	for v := range f.viewers {
		v.offer(&next)
	}
}

// leave records that there is no rack, and why.
func (f *feed) leave(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.absent != why {
		f.absent, f.latest = why, nil
		f.tellAll()
	}
}

// tellAll notifies viewers whether there is a rack, and of its run. The caller holds mu.
func (f *feed) tellAll() {
	for v := range f.viewers {
		v.absent, v.epoch, v.changed, v.next = f.absent, f.epoch, true, nil
		v.signal()
	}
}

// offer replaces the frame that the viewer has not taken. The caller holds feed.mu.
func (v *viewer) offer(next *frame) {
	if v.next != nil {
		v.missed++
	}
	v.next = next
	v.signal()
}

func (v *viewer) signal() {
	select {
	case v.ready <- struct{}{}:
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
	v := &viewer{ready: make(chan struct{}, 1), next: f.latest, absent: f.absent, epoch: f.epoch, changed: true}
	v.signal()
	f.viewers[v] = struct{}{}
	f.nudge()
	return v
}

// part removes a viewer.
func (f *feed) part(v *viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.viewers, v)
	f.nudge()
}

func (f *feed) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// view is the set of changes that a viewer takes at once.
type view struct {
	frame   *frame // nil for none
	absent  string
	epoch   int
	changed bool // absent or epoch has changed since the previous view
	missed  int
}

func (f *feed) takeFor(v *viewer) view {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := view{v.next, v.absent, v.epoch, v.changed, v.missed}
	v.next, v.changed, v.missed = nil, false, 0
	return out
}

// remembered returns the recorded frames of the run.
func (f *feed) remembered() []frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]frame(nil), f.ring.frames...)
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

package page

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// How often a rack is asked how it stands.
const (
	watchedEvery = 33  // ms, while somebody looks
	idleEvery    = 250 // ms, while nobody does: for what is remembered
	retryEvery   = time.Second
)

// maxViewers bounds the streams that go on at a time.
const maxViewers = 64

// feed follows a live rack and hands on how it stands. What a viewer has not taken
// when the next frame comes is replaced by it: a slow viewer costs one frame of
// memory and misses frames.
type feed struct {
	mu      sync.Mutex
	ring    ring
	latest  *frame
	absent  string // why there is no rack, "" if there is one
	epoch   int    // counts runs
	viewers map[*viewer]struct{}
	wake    chan struct{} // the first viewer has come, or the last one gone
	closed  bool
}

// viewer is one stream of events.
type viewer struct {
	ready chan struct{} // holds a token while there is something to take
	// Of feed.mu:
	next    *frame // nil if it has been taken
	absent  string
	epoch   int
	changed bool // absent or epoch
	missed  int  // frames that were replaced
}

func newFeed() *feed {
	return &feed{absent: "no controller", viewers: map[*viewer]struct{}{}, wake: make(chan struct{}, 1)}
}

// follow watches the rack until ctx ends, again after each end of a stream.
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

// errOtherPace says that a stream ended because another pace is wanted.
var errOtherPace = errors.New("another pace is wanted")

// watch takes in one stream. Its pace is that of who looks.
func (f *feed) watch(ctx context.Context, api rackfabv1.FabricServiceClient) error {
	ctx, cancel := context.WithCancelCause(ctx)
	looked := f.looked()
	every := int32(idleEvery)
	if looked {
		every = watchedEvery
	}
	var attending sync.WaitGroup // so that it takes no token of the next stream
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

// take hands on how the rack stands, unless it stands as before.
func (f *feed) take(w *rackfabv1.WatchResponse) {
	if len(w.GetNodes()) == 0 {
		return // it has not come to its first grant
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

// leave says that there is no rack, and why.
func (f *feed) leave(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.absent != why {
		f.absent, f.latest = why, nil
		f.tellAll()
	}
}

// tellAll tells viewers whether there is a rack, and which run of it. The caller
// holds mu.
func (f *feed) tellAll() {
	for v := range f.viewers {
		v.absent, v.epoch, v.changed, v.next = f.absent, f.epoch, true, nil
		v.signal()
	}
}

// offer replaces what the viewer has not taken. The caller holds feed.mu.
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

// join makes a viewer, nil if there are too many. It starts with how things stand.
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

// part ends a viewer.
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

// view is what a viewer takes at a time.
type view struct {
	frame   *frame // nil for none
	absent  string
	epoch   int
	changed bool // absent or epoch since the view before
	missed  int
}

func (f *feed) takeFor(v *viewer) view {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := view{v.next, v.absent, v.epoch, v.changed, v.missed}
	v.next, v.changed, v.missed = nil, false, 0
	return out
}

// remembered gives the frames of the run so far.
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

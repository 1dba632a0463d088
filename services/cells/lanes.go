package cells

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// member is a worker of the pool.
type member struct {
	name, address string
	lanes         int // cells that it can run at once
	free          int // lanes
	call          call
	lost          bool
}

// lanes hands the lanes of workers to cells.
type lanes struct {
	mu      sync.Mutex
	members []*member
	left    int
	losses  []error       // why members are lost
	news    chan struct{} // closed and replaced when a lane becomes free or a member is lost
}

// newLanes returns the lanes of some workers.
func newLanes(members []*member) *lanes {
	for _, m := range members {
		m.free = m.lanes
	}
	return &lanes{members: members, left: len(members), news: make(chan struct{})}
}

// NoWorkersError means that all workers are lost.
type NoWorkersError struct{ Losses []error }

// Error says why each worker is lost.
func (e *NoWorkersError) Error() string {
	return fmt.Sprintf("no worker is left: %v", errors.Join(e.Losses...))
}

// take takes a lane of the worker with the most free ones, and waits until there is one. It
// returns a *NoWorkersError if no worker is left.
func (l *lanes) take(ctx context.Context) (*member, error) {
	for {
		m, news, err := l.pick()
		if m != nil || err != nil {
			return m, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
	}
}

// pick takes a lane if one is free. Otherwise it returns a channel that is closed when that
// may have changed.
func (l *lanes) pick() (*member, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return nil, nil, &NoWorkersError{l.losses}
	}
	var best *member
	for _, m := range l.members {
		if !m.lost && m.free > 0 && (best == nil || m.free > best.free) {
			best = m
		}
	}
	if best != nil {
		best.free--
	}
	return best, l.news, nil
}

// give returns a lane.
func (l *lanes) give(m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.free++
	l.tell()
}

// rest returns a lane after some time.
func (l *lanes) rest(m *member, span time.Duration) {
	time.AfterFunc(span, func() { l.give(m) })
}

// lose removes a worker, and reports whether it was there. Its cells must be run again.
func (l *lanes) lose(m *member, why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.lost {
		return false
	}
	m.lost = true
	l.left--
	l.losses = append(l.losses, why)
	l.tell()
	return true
}

// tell wakes all that wait. The caller has locked l.
func (l *lanes) tell() {
	close(l.news)
	l.news = make(chan struct{})
}

// count returns the number of workers that are left.
func (l *lanes) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left
}

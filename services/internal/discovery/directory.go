package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackfab/rackfab/bus"
)

// askEvery is the interval between two queries while nodes are missing.
const askEvery = 200 * time.Millisecond

// Directory holds the announcements of a rack's nodes until they withdraw. A later
// announcement of the same name replaces an earlier one: the node was restarted. A Directory is safe for
// concurrent use.
type Directory struct {
	conn bus.Conn
	rack string
	stop func()

	mu    sync.Mutex
	nodes map[string]message
	news  chan struct{} // closed and replaced at each announcement
}

// Watch returns a Directory that collects the announcements of a rack until Close.
func Watch(conn bus.Conn, rack string) (*Directory, error) {
	if err := bus.CheckToken(rack); err != nil {
		return nil, fmt.Errorf("rack: %w", err)
	}
	d := &Directory{conn: conn, rack: rack, nodes: map[string]message{}, news: make(chan struct{})}
	stop, err := conn.Subscribe(bus.AnnouncementPattern(rack), d.take)
	if err != nil {
		return nil, err
	}
	d.stop = stop
	if err := conn.Flush(); err != nil {
		stop()
		return nil, err
	}
	return d, nil
}

// Close stops collecting.
func (d *Directory) Close() { d.stop() }

// take stores an announcement, or removes it when its node withdraws. It ignores malformed announcements, and those that one
// node makes in the name of another.
func (d *Directory) take(subject string, data []byte) {
	var m message
	if json.Unmarshal(data, &m) != nil || bus.CheckToken(m.Name) != nil || subject != bus.AnnouncementSubject(d.rack, m.Name) {
		return
	}
	m.Process = cmp.Or(m.Process, m.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !m.Gone:
		d.nodes[m.Name] = m
	case d.nodes[m.Name].Instance == m.Instance: // it has no successor
		delete(d.nodes, m.Name)
	}
	close(d.news)
	d.news = make(chan struct{})
}

// Nodes returns the announcements so far, sorted by name.
func (d *Directory) Nodes() []Hello {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]Hello, 0, len(d.nodes))
	for _, m := range d.nodes {
		list = append(list, m.Hello)
	}
	slices.SortFunc(list, func(a, b Hello) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Forget removes the nodes of a process that has left. They count as missing until they
// announce themselves again.
func (d *Directory) Forget(process string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.nodes, func(_ string, m message) bool { return m.Process == process })
}

// MissingError names nodes that have not announced themselves.
type MissingError struct{ Names []string }

// Error lists the names.
func (e *MissingError) Error() string {
	return "nodes that did not come up: " + strings.Join(e.Names, ", ")
}

// Wait returns the announcements of the named nodes, in that order, and queries for
// those that are missing. If ctx ends first, Wait returns a *MissingError, which
// wraps no other error.
func (d *Directory) Wait(ctx context.Context, names []string) (found []Hello, err error) {
	for over := range d.Rounds(ctx) {
		var missing []string
		if found, missing, _ = d.find(names); len(missing) == 0 {
			return found, nil
		}
		if over {
			err = &MissingError{Names: missing}
		}
	}
	return nil, err
}

// Rounds yields at once, after each announcement and, having sent a query, at intervals.
// After the end of ctx it yields true once, so that a node that joins at the deadline is
// not missed.
func (d *Directory) Rounds(ctx context.Context) iter.Seq[bool] {
	return func(yield func(over bool) bool) {
		query := func() { _ = d.conn.Publish(bus.QuerySubject(d.rack), nil) } // repeated if it is lost
		ask := time.NewTicker(askEvery)
		defer ask.Stop()
		for first := true; ; first = false {
			over := ctx.Err() != nil
			_, _, news := d.find(nil)
			if !yield(over) || over {
				return
			}
			if first {
				query()
			}
			select {
			case <-ctx.Done():
			case <-ask.C:
				query()
			case <-news:
			}
		}
	}
}

// find returns the announcements of the known names, and the missing names. news is
// closed at the next announcement.
func (d *Directory) find(names []string) (found []Hello, missing []string, news <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if m, ok := d.nodes[name]; ok {
			found = append(found, m.Hello)
		} else {
			missing = append(missing, name)
		}
	}
	return found, missing, d.news
}

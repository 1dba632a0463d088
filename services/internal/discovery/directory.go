package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackfab/rackfab/bus"
)

// askEvery is the pause between two questions while nodes are missing.
const askEvery = 200 * time.Millisecond

// Directory knows the nodes of a rack that have said hello. Of two hellos with
// one name the later counts: the node was started anew. Safe for concurrent use.
type Directory struct {
	conn bus.Conn
	rack string
	stop func()

	mu    sync.Mutex
	nodes map[string]Hello
	news  chan struct{} // closed and replaced with every hello
}

// Watch starts to collect the hellos of a rack until Close.
func Watch(conn bus.Conn, rack string) (*Directory, error) {
	if err := bus.CheckToken(rack); err != nil {
		return nil, fmt.Errorf("rack: %w", err)
	}
	d := &Directory{conn: conn, rack: rack, nodes: map[string]Hello{}, news: make(chan struct{})}
	stop, err := conn.Subscribe(bus.HelloPattern(rack), d.take)
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

// take notes a hello; what is none is left alone, and so is what one node says in
// the name of another.
func (d *Directory) take(subject string, data []byte) {
	var h Hello
	if json.Unmarshal(data, &h) != nil || bus.CheckToken(h.Name) != nil || subject != bus.HelloSubject(d.rack, h.Name) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes[h.Name] = h
	close(d.news)
	d.news = make(chan struct{})
}

// Nodes lists the nodes known so far, by name.
func (d *Directory) Nodes() []Hello {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]Hello, 0, len(d.nodes))
	for _, h := range d.nodes {
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b Hello) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Forget drops a node that turned out to be gone; it counts as missing until it
// says hello again.
func (d *Directory) Forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, name)
}

// MissingError names nodes that have not said hello.
type MissingError struct{ Names []string }

// Error lists the names.
func (e *MissingError) Error() string {
	return "nodes that did not come up: " + strings.Join(e.Names, ", ")
}

// Wait gives the hellos of the named nodes, in that order, and asks for those
// that are missing. When ctx ends it gives a MissingError that wraps nothing.
func (d *Directory) Wait(ctx context.Context, names []string) ([]Hello, error) {
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		found, missing, news := d.find(names)
		if len(missing) == 0 {
			return found, nil
		}
		_ = d.conn.Publish(bus.WhoSubject(d.rack), nil) // asked again if it is lost
		if d.pause(ctx, news, ask.C, names) {
			continue
		}
		if found, missing, _ = d.find(names); len(missing) > 0 {
			return nil, &MissingError{Names: missing}
		}
		return found, nil
	}
}

// pause returns when it is time to ask again or when all names are there, false
// when ctx has ended before that.
func (d *Directory) pause(ctx context.Context, news <-chan struct{}, ask <-chan time.Time, names []string) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ask:
			return true
		case <-news:
			var missing []string
			if _, missing, news = d.find(names); len(missing) == 0 {
				return true
			}
		}
	}
}

// find sorts names into hellos and missing ones; news closes when that changes.
func (d *Directory) find(names []string) (found []Hello, missing []string, news <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if h, ok := d.nodes[name]; ok {
			found = append(found, h)
		} else {
			missing = append(missing, name)
		}
	}
	return found, missing, d.news
}

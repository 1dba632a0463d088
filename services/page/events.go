package page

import (
	"fmt"
	"net/http"
	"time"
)

// writeLimit is how long a viewer may take no byte; then its stream ends.
const writeLimit = 30 * time.Second

// beat is how long a stream may be silent: what stands between must not think it
// dead, and a viewer that has gone is noticed.
const beat = 15 * time.Second

// live sends events (server-sent): "rack" says which run there is or why there is
// none, "frame" how it stands, "missed" how many frames this viewer did not take in
// time.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	v := p.feed.join()
	if v == nil {
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d look on already", maxViewers))
		return
	}
	defer p.feed.part(v)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	quiet := time.NewTicker(beat)
	defer quiet.Stop()
	for {
		text := []byte(":\n\n")
		select {
		case _, open := <-v.ready:
			if !open {
				return
			}
			text = p.feed.takeFor(v).event()
		case <-quiet.C:
		case <-r.Context().Done():
			return
		}
		if len(text) == 0 {
			continue
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeLimit)) // where it cannot be set, the server's own holds
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

// event writes what a viewer takes.
func (s view) event() (b []byte) {
	if s.changed {
		b = append(b, "event: rack\ndata: {\"run\":"...)
		b = number(b, int64(s.epoch))
		b = text(append(b, `,"absent":`...), s.absent)
		b = append(b, "}\n\n"...)
	}
	if s.missed > 0 {
		b = number(append(b, "event: missed\ndata: "...), int64(s.missed))
		b = append(b, "\n\n"...)
	}
	if s.frame != nil {
		b = append(b, "event: frame\ndata: "...)
		b = append(b, s.frame.json...)
		b = append(b, "\n\n"...)
	}
	return b
}

// history sends what is remembered of the run, an array of frames.
func (p *Page) history(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	b := []byte("[")
	for i, f := range p.feed.remembered() {
		b = append(comma(b, i), f.json...)
		if len(b) > 1<<16 {
			if _, err := w.Write(b); err != nil {
				return
			}
			b = b[:0]
		}
	}
	_, _ = w.Write(append(b, ']')) // the client may have gone
}

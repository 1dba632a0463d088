package page

import (
	"fmt"
	"net/http"
	"time"
)

// writeLimit is how long a write to a viewer may block before its stream ends.
const writeLimit = 30 * time.Second

// beat is the maximum silence of a stream. It keeps proxies from closing the stream and
// detects viewers that have disconnected.
const beat = 15 * time.Second

// live sends server-sent events: "rack" identifies the run or says why there is none,
// "frame" is the state of the rack, and "missed" is the number of frames that this
// viewer was too slow to receive.
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
		_ = out.SetWriteDeadline(time.Now().Add(writeLimit)) // if unsupported, the server's own limit applies
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

// event encodes a view as server-sent events.
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

// history sends the recorded frames of the run, as an array.
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
	_, _ = w.Write(append(b, ']')) // the client may have disconnected
}

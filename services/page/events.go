package page

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// writeLimit is how long a write to a viewer may block before its stream ends.
const writeLimit = 30 * time.Second

// maxSilence is the maximum silence of a stream. It keeps proxies from closing the
// stream and detects viewers that have disconnected.
const maxSilence = 15 * time.Second

// live sends server-sent events: "rack" identifies the run, or says why and since when there is none,
// "frame" is the state of the rack, and "missed" is the number of frames that this
// viewer was too slow to receive.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	v := p.feed.join()
	if v == nil {
		sendError(w, http.StatusServiceUnavailable, fmt.Sprintf("%d viewers are connected, which is the maximum", maxViewers))
		return
	}
	defer p.feed.leave(v)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	quiet := time.NewTicker(maxSilence)
	defer quiet.Stop()
	for {
		text := []byte(":\n\n")
		select {
		case _, open := <-v.ready:
			if !open {
				return
			}
			text = p.feed.next(v).events()
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

// events encodes an update as server-sent events.
func (u update) events() (b []byte) {
	if u.changed {
		b = fmt.Appendf(b, "event: rack\ndata: {\"run\":%q,\"absent\":%s,\"since\":%d,\"up\":%t}\n\n", u.run, marshal(u.absent), u.since, u.up)
	}
	if u.missed > 0 {
		b = fmt.Appendf(b, "event: missed\ndata: %d\n\n", u.missed)
	}
	if u.frame != nil {
		b = fmt.Appendf(b, "event: frame\ndata: %s\n\n", u.frame.json)
	}
	return b
}

// history sends the recorded frames of the run, as an array: those between the instants
// from and to of the query, in ps, by default all, thinned to at most 900 frames or 6 MiB.
func (p *Page) history(w http.ResponseWriter, r *http.Request) {
	from, err := instant(r, "from", 0)
	to, other := instant(r, "to", math.MaxInt64)
	if err = errors.Join(err, other); err != nil {
		sendError(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriter(w)
	_ = out.WriteByte('[') // out keeps an error until Flush
	for i, f := range p.feed.history(from, to) {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(f.json)
	}
	_ = out.WriteByte(']')
	_ = out.Flush() // the client may have disconnected
}

// instant returns an instant of a query in ps, or a default without it.
func instant(r *http.Request, key string, without int64) (int64, error) {
	text := r.URL.Query().Get(key)
	if text == "" {
		return without, nil
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil || at < 0 {
		return 0, fmt.Errorf("%s: invalid instant %q: must be a number of picoseconds from 0", key, text)
	}
	return at, nil
}

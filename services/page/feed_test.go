package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A frame contains ports, the flows of a burst as one entry, flags, and the entropy moves of a NIC.
func TestFrameEncoding(t *testing.T) {
	f := newFrame(state(42))
	var got, want any
	if err := json.Unmarshal(f.json, &got); err != nil {
		t.Fatalf("%s: %v", f.json, err)
	}
	text := `{"at":42,"granted":42,"state":"running","pace":0,"changes":0,"hops":0,"scheme":"pcn","scenario":"pair","digest":"00000000000000ab","stalled":"stalled for 3 s: bus unreachable","recoveries":2,"nodes":[
		{"p":[[0,10,0,0,2,0,0,1]],"f":[["F0",1,1000000000,10,8],["b/h0",2,5000000000,3,2]],"d":5,"x":1,"e":[0,7,0]},
		{"p":[[99,0,0,2,0,0,0,2]],"d":0}]}`
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if a, b := mustJSON(got), mustJSON(want); a != b {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// For any length of run and frames, the ring stays within its limits and keeps frames in
// order, from the first frame to the last.
func TestRingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		n := rapid.IntRange(1, 5000).Draw(t, "frames")
		long := rapid.IntRange(1, 200_000).Draw(t, "length")
		text := make([]byte, long)
		for i := range n {
			r.add(frame{at: int64(i), json: text[:1+i*7919%long]})
			bytes := 0
			for _, f := range r.frames {
				bytes += len(f.json)
			}
			if bytes != r.bytes || bytes > ringBytes {
				t.Fatalf("%d frames of %d bytes, counted as %d bytes", len(r.frames), bytes, r.bytes)
			}
		}
		for i, f := range r.frames {
			if i > 0 && f.at <= r.frames[i-1].at {
				t.Fatalf("frame %d at %d after one at %d", i, f.at, r.frames[i-1].at)
			}
		}
		if r.frames[0].at != 0 || r.frames[len(r.frames)-1].at != int64(n-1) {
			t.Fatalf("from %d to %d of %d", r.frames[0].at, r.frames[len(r.frames)-1].at, n)
		}
	})
}

// An answer has the frames of its range and the one before it, all of them if they fit: a
// short range of a long run has every frame, the whole run every n-th.
func TestRingAnswersRanges(t *testing.T) {
	var r ring
	if got := r.between(0, 9); got != nil {
		t.Errorf("an empty ring has %d frames", len(got))
	}
	for i := range 5000 {
		r.add(frame{at: int64(10 * i), json: make([]byte, 2000)})
	}
	for _, c := range []struct{ from, to, first, last, frames int64 }{
		{0, math.MaxInt64, 0, 49990, 835}, {0, 0, 0, 0, 1}, {1000, 2000, 990, 2000, 102}, {1001, 2009, 1000, 2000, 101}, {49985, 90000, 49980, 49990, 2}, {60000, 90000, 49990, 49990, 1},
	} {
		got := r.between(c.from, c.to)
		if int64(len(got)) != c.frames || got[0].at != c.first || got[len(got)-1].at != c.last {
			t.Errorf("%d to %d: %d frames from %d to %d, want %d from %d to %d", c.from, c.to, len(got), got[0].at, got[len(got)-1].at, c.frames, c.first, c.last)
		}
	}
	var long ring
	for i := range 30 {
		long.add(frame{at: int64(i), json: make([]byte, 500_000)})
	}
	if got := long.between(0, 29); len(got) != 11 || got[10].at != 29 {
		t.Errorf("%d frames of 500 kB", len(got))
	}
}

// A viewer that takes nothing costs the memory of one frame; it then receives the number
// of missed frames and the latest frame.
func TestSlowViewerMissesFrames(t *testing.T) {
	f := newFeed()
	v := f.join()
	f.next(v)
	const n = 5000
	for i := range n {
		f.receive(state(int64(i)))
	}
	got := f.next(v)
	if got.missed != n-1 || got.frame == nil || got.frame.at != n-1 || len(v.ready) > 1 {
		t.Errorf("missed %d, frame %+v", got.missed, got.frame)
	}
	if again := f.next(v); again.frame != nil || again.missed != 0 {
		t.Errorf("again: %+v", again)
	}
	if all := f.history(0, n); len(all) > answerFrames+1 || all[0].at != 0 || all[len(all)-1].at != n-1 {
		t.Errorf("%d frames recorded, from %d to %d", len(all), all[0].at, all[len(all)-1].at)
	}
}

// Viewers beyond the maximum are refused until one leaves.
func TestViewersAreBounded(t *testing.T) {
	f := newFeed()
	var all []*viewer
	for range maxViewers {
		all = append(all, f.join())
	}
	if f.join() != nil {
		t.Fatal("accepted more than the maximum")
	}
	f.leave(all[0])
	if f.join() == nil {
		t.Error("refused a viewer after one has left")
	}
}

// The stream reports the rack, its frames and its end, polls faster while a viewer is
// connected, and omits unchanged frames.
func TestLiveStream(t *testing.T) {
	r := &rack{watched: make(chan *rackfabv1.WatchRequest, 8), states: make(chan *rackfabv1.WatchResponse)}
	p := newPage(t, Options{Fabric: r})
	server := httptest.NewServer(p)
	defer server.Close()
	if q := <-r.watched; q.GetEveryMs() != idleEvery {
		t.Errorf("polls every %d ms without a viewer", q.GetEveryMs())
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	if q := <-r.watched; q.GetEveryMs() != watchedEvery {
		t.Errorf("polls every %d ms with a viewer", q.GetEveryMs())
	}
	lines := bufio.NewScanner(out.Body)
	event := func() (text string) {
		for lines.Scan() && lines.Text() != "" {
			text += lines.Text() + "\n"
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
		return text
	}
	if e := event(); !strings.HasPrefix(e, "event: rack\n") || !strings.Contains(e, `"absent":"no controller"`) {
		t.Errorf("first: %s", e)
	}
	r.states <- &rackfabv1.WatchResponse{Status: &rackfabv1.RackStatus{}}
	if e := event(); !strings.Contains(e, `"since":0,"up":true`) {
		t.Errorf("a rack whose clock has not started: %s", e)
	}
	r.states <- state(1)
	if e := event(); e != rackEvent(p.feed, 1) {
		t.Errorf("rack: %s", e)
	}
	if e := event(); !strings.HasPrefix(e, "event: frame\ndata: {\"at\":1,") {
		t.Errorf("frame: %s", e)
	}
	r.states <- state(1) // unchanged
	r.states <- state(9)
	if e := event(); !strings.HasPrefix(e, "event: frame\ndata: {\"at\":9,") {
		t.Errorf("frame: %s", e)
	}
	r.states <- state(3) // an earlier instant: another run
	if e := event(); e != rackEvent(p.feed, 2) {
		t.Errorf("rack: %s", e)
	}
	event()
	history := get(p, "/api/history", nil).Body.String()
	var frames []struct{ At int64 }
	if err := json.Unmarshal([]byte(history), &frames); err != nil || len(frames) != 1 || frames[0].At != 3 {
		t.Errorf("history %s: %v", history, err)
	}
	for query, want := range map[string]string{"from=x": "from: invalid instant", "from=1&to=-3": "to: invalid instant"} {
		if a := get(p, "/api/history?"+query, nil); a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), want) {
			t.Errorf("history of %s: %d %s", query, a.Code, a.Body)
		}
	}
	if text := get(p, "/api/history?from=4&to=5", nil).Body.String(); !strings.Contains(text, `"at":3,`) {
		t.Errorf("history from 4 to 5 lacks the frame before: %s", text)
	}
	close(r.states)
	if e := event(); !strings.HasPrefix(e, "event: rack\n") || strings.Contains(e, `"absent":""`) || strings.Contains(e, `"since":0`) || !strings.Contains(e, `"up":false`) {
		t.Errorf("after the end: %s", e)
	}
}

// rackEvent returns the event that announces the nth run of a feed.
func rackEvent(f *feed, n int) string {
	return fmt.Sprintf("event: rack\ndata: {\"run\":\"%s-%d\",\"absent\":\"\",\"since\":0,\"up\":false}\n", f.process, n)
}

// A page that is started again announces another run, so that viewers that reconnect drop the
// frames of the earlier one, even if the new run is behind it.
func TestRunsOfTwoProcessesDiffer(t *testing.T) {
	var runs []string
	for _, at := range []int64{9, 3} {
		f := newFeed()
		f.receive(state(at))
		runs = append(runs, f.next(f.join()).run)
	}
	if runs[0] == runs[1] {
		t.Errorf("both processes announce the run %s", runs[0])
	}
}

// BenchmarkFrame encodes the state of a rack of 18 nodes, without and with a burst of 56
// flows from each of 16 senders.
func BenchmarkFrame(b *testing.B) {
	idle, burst := state(1), state(1)
	for sender := range 16 {
		n := idle.GetNodes()[0]
		idle.Nodes = append(idle.Nodes, n)
		sending := &rackfabv1.NodeStats{Ports: n.GetPorts()}
		for i := range 56 {
			name := fmt.Sprintf("burst/h%d/%d", sender, i)
			sending.Flows = append(sending.Flows, &rackfabv1.FlowStats{Name: name, RateBps: 1234567890, SentBytes: 64000, AckedBytes: 60000})
		}
		burst.Nodes = append(burst.Nodes, sending)
	}
	for name, w := range map[string]*rackfabv1.WatchResponse{"idle": idle, "burst": burst} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				newFrame(w)
			}
		})
	}
}

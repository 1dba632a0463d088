package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	events "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/page"
)

// scripted is the controller of a rack of h0, s0 and h1 that shows preset states.
type scripted struct {
	rackfabv1.FabricServiceClient
	states chan *rackfabv1.WatchResponse
}

func (s *scripted) Watch(ctx context.Context, _ *rackfabv1.WatchRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[rackfabv1.WatchResponse], error) {
	return &script{ctx: ctx, states: s.states}, nil
}

// Apply refuses bursts from other nodes than h0.
func (s *scripted) Apply(_ context.Context, q *rackfabv1.ApplyRequest, _ ...grpc.CallOption) (*rackfabv1.ApplyResponse, error) {
	if from := q.GetChange().GetBurst().GetFrom(); from != "h0" {
		refused, err := status.New(codes.InvalidArgument, "change").WithDetails(&errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "change.burst.from", Description: "no NIC is called " + from}},
		})
		return nil, errors.Join(err, refused.Err())
	}
	return &rackfabv1.ApplyResponse{}, nil
}

func (s *scripted) GetTopology(context.Context, *rackfabv1.GetTopologyRequest, ...grpc.CallOption) (*rackfabv1.GetTopologyResponse, error) {
	return &rackfabv1.GetTopologyResponse{Topology: &rackfabv1.Topology{
		Scenario: "scripted", Scheme: "pfc",
		Nodes: []*rackfabv1.TopologyNode{{Name: "h0", Kind: rackfabv1.NodeKind_NODE_KIND_NIC}, {Name: "h1", Kind: rackfabv1.NodeKind_NODE_KIND_NIC}, {Name: "s0", Kind: rackfabv1.NodeKind_NODE_KIND_SWITCH, Layer: 1}},
		Links: []*rackfabv1.TopologyLink{{A: "h0", B: "s0", RateBps: 1e9}, {A: "h1", B: "s0", BPort: 1, RateBps: 1e9}},
	}}, nil
}

// script is a stream of the states of a scripted controller.
type script struct {
	grpc.ClientStream
	ctx    context.Context //nolint:containedctx // that of the stream
	states <-chan *rackfabv1.WatchResponse
}

func (s *script) Recv() (*rackfabv1.WatchResponse, error) {
	select {
	case w := <-s.states:
		return w, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// show makes the rack show a status, at an instant in ps.
func (s *scripted) show(at int64, status *rackfabv1.RackStatus) {
	status.Scenario, status.Scheme, status.AtPs, status.GrantedPs = "scripted", "pfc", at, at
	port := &rackfabv1.PortStats{SentBytes: at / 1e6, QueueBytes: 1000}
	nodes := []*rackfabv1.NodeStats{{Node: "h0", Ports: []*rackfabv1.PortStats{port}}, {Node: "h1", Ports: []*rackfabv1.PortStats{port}}, {Node: "s0", Ports: []*rackfabv1.PortStats{port, port}}}
	s.states <- &rackfabv1.WatchResponse{Status: status, Nodes: nodes}
}

func running() *rackfabv1.RackStatus {
	return &rackfabv1.RackStatus{State: rackfabv1.RackState_RACK_STATE_RUNNING, PacePsPerSecond: 1e8}
}

func newScripted() *scripted { return &scripted{states: make(chan *rackfabv1.WatchResponse, 8)} }

// servePage serves a page at an address, "" for any, and returns the address and what ends it.
// before sees each request, and reports whether it has answered it; it may be nil.
func servePage(t *testing.T, address string, o page.Options, before func(http.ResponseWriter, *http.Request) bool) (string, func()) {
	t.Helper()
	p, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			p.ServeHTTP(w, r)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	end := func() {
		_ = server.Close()
		p.Close()
	}
	t.Cleanup(end)
	return listener.Addr().String(), end
}

// visit opens a page at an address, with what follows the # of its link, in a browser.
func visit(t *testing.T, address, link string) *browser {
	t.Helper()
	b := newBrowser(t, 1366, 768)
	b.do(t, chromedp.Navigate("http://"+address+"/#"+link))
	return b
}

// scriptedPage serves the page of a scripted rack and opens it.
func scriptedPage(t *testing.T, link string) (*scripted, *browser) {
	t.Helper()
	rack := newScripted()
	address, _ := servePage(t, "", page.Options{Fabric: rack}, nil)
	return rack, visit(t, address, link)
}

// A page whose rack is started again drops the frames of the earlier one, although the new
// rack is behind it, and its process counts runs from 1 as well.
func TestPageOfARackStartedAgain(t *testing.T) {
	first, second := newScripted(), newScripted()
	first.show(9e9, running())
	address, end := servePage(t, "", page.Options{Fabric: first}, nil)
	b := visit(t, address, "at=9000us")
	b.until(t, `window.rackfab?.snap?.at === 9e9`)
	end()
	second.show(3e9, running())
	servePage(t, address, page.Options{Fabric: second}, nil)
	b.until(t, `rackfab.snap.at === 3e9 && rackfab.run.length === 1 && rackfab.live && !document.querySelector("#banner:not([hidden])") && !location.hash.includes("at=")`)
}

// A view whose module cannot be fetched says so, and what to do; it opens once the server
// answers. No exception is left uncaught.
func TestPageOpensAViewLater(t *testing.T) {
	var gone atomic.Bool
	gone.Store(true)
	address, _ := servePage(t, "", page.Options{Fabric: newScripted(), Runs: t.TempDir()}, func(w http.ResponseWriter, r *http.Request) bool {
		fail := gone.Load() && (r.URL.Path == "/table.js" || r.URL.Path == "/columns.js")
		if fail {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return fail
	})
	b := visit(t, address, "")
	for _, view := range []string{"table", "compare"} {
		b.do(t, chromedp.Click("#tab-"+view))
		b.until(t, `/cannot be loaded[^]*rackfab up[^]*Try again/.test(document.querySelector("#view-`+view+`").innerText)`)
	}
	gone.Store(false)
	loaded := make(chan struct{}, 1)
	if err := chromedp.Listen(b, func(e any) {
		if _, ok := e.(*events.EventLoadEventFired); ok {
			loaded <- struct{}{}
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Click("#view-compare .notice button"))
	select {
	case <-loaded:
	case <-b.Done():
		t.Fatal("Try again does not load the page")
	}
	b.until(t, `document.querySelector("#view-compare #compare-metric")`)
	b.do(t, chromedp.Click("#tab-table"))
	b.until(t, `document.querySelector("#view-table #schemes")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if all := strings.Join(b.wrong, "\n"); strings.Contains(all, "Uncaught") {
		t.Errorf("the browser's console:\n%s", all)
	}
}

// The link of a comparison with the live rack shows it, although Compare opens before the page
// knows that there is a rack. A drag in a chart zooms in, as in the fields and the address; the wheel moves
// the window; and a double click shows the whole run.
func TestPageComparesTheLiveRackOfALink(t *testing.T) {
	rack, shown := newScripted(), make(chan struct{})
	address, _ := servePage(t, "", page.Options{Fabric: rack}, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/live" {
			<-shown
		}
		return false
	})
	b := visit(t, address, "tab=compare&runs=live")
	b.until(t, `document.querySelector("#view-compare .notice")`)
	for at := range int64(9) {
		rack.show((at+1)*1e9, running())
	}
	close(shown)
	b.until(t, comparesLive)
	const chart, window = `document.querySelectorAll("#view-compare .chart")[1]`, `document.querySelector("#compare-at")`
	at := value[[]float64](t, b, `(() => { const e = `+chart+`; e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect(), x = (ps) => r.x + (e.scale.x(ps) * r.width) / e.viewBox.baseVal.width; return [x(3e9), x(6e9), r.y + 30] })()`)
	b.do(t, chromedp.DragAndDropXY(at[0], at[2], at[1], at[2]))
	const zoomed = `Math.abs(` + window + `.min - 3e9) < 2e7 && Math.abs(` + window + `.max - 6e9) < 2e7`
	b.until(t, zoomed+` && /from=(29|30)\d\d[.\d]*us/.test(location.hash) && /^(29|30)\d\d/.test(document.querySelector("#compare-from").value)`)
	b.until(t, ``+chart+`.scale.lines[0].points.at(-1)[0] < 6.1e9`) // the lines of the window
	value[bool](t, b, chart+`.dispatchEvent(new WheelEvent("wheel", { deltaY: 100, shiftKey: true, cancelable: true }))`)
	b.until(t, window+`.min > 3.1e9`)
	b.until(t, `!(`+zoomed+`)`)
	value[bool](t, b, chart+`.dispatchEvent(new MouseEvent("dblclick"))`)
	b.until(t, window+`.min === "0" && `+window+`.max === "9000000000"`)
	b.quiet(t)
}

// comparesLive holds while Compare shows the live rack, and the address says so.
const comparesLive = `document.querySelector(".column-head h3")?.textContent.startsWith("live rack") && location.hash.includes("runs=live")`

// The link of a comparison with the live rack shows it once it is up.
func TestPageComparesALiveRackThatStartsLater(t *testing.T) {
	rack, b := scriptedPage(t, "tab=compare&runs=live")
	b.until(t, `/Nothing to compare/.test(document.querySelector("#view-compare .notice")?.innerText)`)
	rack.show(1e9, running())
	rack.show(2e9, running())
	b.until(t, comparesLive)
	b.quiet(t)
}

// The header says that a rack is stalled. When the run has failed, its controls are gone.
func TestPageOfAFailedRun(t *testing.T) {
	rack, b := scriptedPage(t, "sel=node:h0")
	rack.show(1e9, running())
	b.until(t, `document.querySelector("#burst") && document.querySelector("#selected .act button") && !document.querySelector("#toggle").disabled && document.querySelector("#live.on")`)
	stalled := running()
	stalled.Stalled = "stalled for 12 s: h5 waits for s1"
	rack.show(1e9, stalled)
	b.until(t, `document.querySelector("#run .state[data-state=stalled]")?.textContent === "stalled"`)
	rack.show(1e9, &rackfabv1.RackStatus{State: rackfabv1.RackState_RACK_STATE_FAILED, FailedNode: "h5", Failure: "no progress for 2m: h5 waits for s1"})
	b.until(t, `/The run failed[^]*No progress for 2m: h5 waits for s1/.test(document.querySelector("#banner:not([hidden])")?.innerText ?? "")`)
	b.until(t, `/run failed/.test(document.querySelector("#act").innerText) && !document.querySelector("#burst") && !document.querySelector("#selected .act button") && document.querySelector("#toggle:disabled") && !document.querySelector("#live.on")`)
	b.quiet(t)
}

// While the clock of a rack has not started, the page offers to start it, and hides what needs
// an instant of the run.
func TestPageOfARackBeforeItsStart(t *testing.T) {
	rack, b := scriptedPage(t, "")
	rack.states <- &rackfabv1.WatchResponse{Status: &rackfabv1.RackStatus{}}
	const shown = `["#time", ".zooms", "#save-rack", "#start-clock", "#burst"].filter((v) => document.querySelector(v)?.checkVisibility()).join(" ")`
	b.until(t, `document.querySelector("#start-clock") && document.querySelector("#run .state").textContent === "clock not started" && `+shown+` === "#start-clock"`)
	rack.show(1e9, running())
	b.until(t, shown+` === "#time .zooms #save-rack #burst"`)
	b.quiet(t)
}

// A refused change marks the input that the controller names, and says why below it by the
// input's label, until the change is accepted.
func TestPageOfARefusedChange(t *testing.T) {
	rack, b := scriptedPage(t, "")
	rack.show(1e9, running())
	b.until(t, `document.querySelector("#burst")`)
	b.do(t, chromedp.SetValue("#burst-from", "x"), chromedp.Click("#burst"))
	b.until(t, `document.querySelector("#burst-from[aria-invalid]") && document.querySelector(".act.burst .refused").textContent === "From: no NIC is called x"`)
	b.do(t, chromedp.SetValue("#burst-size", "y"), chromedp.Click("#burst"))
	b.until(t, `document.querySelector("#burst-size[aria-invalid]") && !document.querySelector("#burst-from[aria-invalid]") && document.querySelector(".act.burst .refused").textContent.startsWith("Size: invalid value")`)
	b.do(t, chromedp.SetValue("#burst-from", "h0"), chromedp.SetValue("#burst-size", "1KB"), chromedp.Click("#burst"))
	b.until(t, `!document.querySelector("[aria-invalid]") && !document.querySelector(".refused") && document.querySelector("#toast.shown:not(.bad)")`)
}

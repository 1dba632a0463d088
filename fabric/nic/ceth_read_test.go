package nic

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// markResponses makes the bench mark the next responses of host 1.
func (b *fabricBench) markResponses(last int) {
	count := 0
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 1 && isResponse(f) {
			if count < last {
				f.SetECN(frame.CE)
			}
			count++
		}
		return true
	}
}

// requested returns the indications in READ requests.
func requested(frames []sentFrame) (list []string) {
	for i := range frames {
		word := "clear"
		if f := &frames[i].Frame; f.BECN() {
			h, _ := f.CETH()
			g, _ := h.Congestion()
			word = fmt.Sprintf("%v, service %d", cc.Degree(g.Ratio), g.Service)
		}
		list = append(list, word)
	}
	return list
}

// byTable sets the rate for each degree as a share of line rate.
func byTable(p *cc.CETHParams) { p.Degree = cc.CETHTable }

// CETH-47: the next READ request reports marked responses, and the end of marks. The
// responder sets the rates of the degrees, and returns to its former rate.
// CETH-35: the scenario is that of READ responses.
func TestReadRequestIndicatesCongestionOfResponses(t *testing.T) {
	b := newExchange(t, 1, aggregated(byTable))
	b.markResponses(40)
	for id := range uint32(4) {
		b.post(0, get(id, 20_000))
		b.run(b.now + 25*us)
	}
	b.run(b.now + 50*us)
	// Each command has 20 READ requests and 20 responses, which return 10 us later or
	// more. The requests of the first command report nothing yet. Those of the second and
	// third report marked responses. The first of the fourth still covers marks; the last
	// response before the next one has none.
	got := requested(b.from(0, isReadRequest))
	want := make([]string, 0, 80)
	for i := range 80 {
		word := "clear"
		if i >= 20 && i < 60 {
			word = "heavy, service 2"
		} else if i == 60 {
			word = "medium, service 2"
		}
		want = append(want, word)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var rates []string
	for _, n := range b.noted(1, fabric.RateChanged) {
		rates = append(rates, n.Rate().String())
	}
	if diff := cmp.Diff([]string{"10Gbps", "20Gbps", "40Gbps"}, rates); diff != "" {
		t.Error(diff)
	}
	if cnps := b.from(0, isCNP); len(cnps) != 0 {
		t.Errorf("%d CNPs beside requests", len(cnps))
	}
	if got := b.delivered(0); got != 80_000 {
		t.Errorf("%v came in", got)
	}
}

// CETH-47: without a READ request in the interval, an enhanced CNP reports the beginning
// and the end of congestion.
// CETH-34: its type is enhanced.
func TestEnhancedCNPCarriesCETHWithoutACK(t *testing.T) {
	b := newExchange(t, 1, aggregated(byTable))
	b.markResponses(100)
	b.post(0, get(0, 200_000)) // 64 requests at a time: then responses alone come in
	b.run(unit.Millisecond)
	b.markResponses(20)
	b.post(0, get(1, 20_000))
	b.run(2 * unit.Millisecond)
	cnps := b.from(0, isCNP)
	if len(cnps) == 0 {
		t.Fatal("no CNP")
	}
	f := cnps[len(cnps)-1]
	h, ok := f.CETH()
	g, known := h.Congestion()
	if !ok || !known || !g.Enhanced || g.Service != frame.ServiceReadResponse || g.Ratio == frame.RatioNone || f.DestQP() != frame.ReceiverQP(0) {
		t.Errorf("%v %v %+v to %#x", ok, known, g, f.DestQP())
	}
	if f.Len() != 78+12 || f.ECN() != frame.NotECT {
		t.Errorf("%d bytes, ECN %d", f.Len(), f.ECN())
	}
	if got := b.nics[1].Stats().RPCNPHandled; got != uint64(len(cnps)) {
		t.Errorf("%d CNPs handled", got)
	}
	if got := b.nics[1].Stats().Malformed; got != 0 {
		t.Errorf("%d malformed", got)
	}
	// The requests of the next command still report marks. Its last responses are
	// unmarked, and no request follows: the CNP reports degree none.
	b.markResponses(5)
	b.post(0, get(2, 20_000))
	b.run(3 * unit.Millisecond)
	last := b.from(0, isCNP)
	h, _ = last[len(last)-1].CETH()
	if g, _ := h.Congestion(); len(last) == len(cnps) || g.Ratio != frame.RatioNone {
		t.Errorf("the last CNP of %d reports %+v", len(last), g)
	}
	if moved := b.noted(1, fabric.RateChanged); moved[len(moved)-1].Rate() != testRate {
		t.Errorf("the responder is left at %d bit/s", moved[len(moved)-1].Rate())
	}
}

// In the mode with the indication alone, the CNP has version 0, and the end of congestion
// waits for a request.
func TestPlainCNPIndicatesWithoutCETH(t *testing.T) {
	b := newExchange(t, 1, aggregated(func(p *cc.CETHParams) { p.Mode = cc.CETHIndication }))
	b.markResponses(20)
	b.post(0, get(0, 20_000))
	b.run(200 * us)
	cnps := b.from(0, isCNP)
	if len(cnps) != 1 {
		t.Fatalf("%d CNPs", len(cnps))
	}
	if h, ok := cnps[0].CETH(); !ok || h != (frame.CETH{Version: 0, Words: 1}) {
		t.Errorf("%+v", h)
	}
	if got := b.noted(1, fabric.RateChanged); len(got) != 1 || got[0].Rate() != testRate/2 {
		t.Errorf("%+v", got)
	}
	b.markResponses(0)
	b.post(0, get(1, 20_000))
	b.run(400 * us)
	b.post(0, get(2, 1000))
	b.run(600 * us)
	if got := b.noted(1, fabric.RateChanged); got[len(got)-1].Rate() != testRate {
		t.Errorf("%+v", got[len(got)-1])
	}
}

// A WRITE between READs carries no indication, and requests telemetry as a flow does.
// Responses do the same.
func TestTelemetryOfConnections(t *testing.T) {
	b := newExchange(t, 1, aggregated(func(p *cc.CETHParams) { p.Source = cc.CETHINT }))
	b.tap = func(from int, f *frame.Frame) bool {
		if isData(f) != (f.Carrier() == frame.CarrierINT) {
			t.Errorf("%v from host %d has carrier %d", f.Opcode(), from, f.Carrier())
		}
		if from == 1 && isResponse(f) {
			f.SetECN(frame.CE)
			f.PushHop(&frame.Hop{Node: 1, Out: 2, Depth: 150_000}, 1500)
		}
		return true
	}
	b.post(0, get(0, 5000))
	b.post(0, put(1, 5000))
	b.run(20 * us)
	b.post(0, get(2, 5000))
	b.post(0, put(3, 5000))
	b.run(unit.Millisecond)
	if got := b.done(); len(got) != 4 || b.delivered(0) != 10_000 || b.delivered(1) != 10_000 {
		t.Errorf("commands %v, %v and %v", got, b.delivered(0), b.delivered(1))
	}
	for _, f := range b.from(0, func(f *frame.Frame) bool { return f.BECN() }) {
		h, ok := f.CETH()
		g, _ := h.Congestion()
		if !isReadRequest(&f.Frame) || !ok || g.Switch != 1 || g.Port != 2 || g.Depth != 150_000 {
			t.Errorf("%v: %+v", f.Opcode(), g)
		}
	}
}

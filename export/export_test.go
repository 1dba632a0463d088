package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"
)

// small is a rack in which two hosts send to a third; the burst makes s0 pause.
const small = `
name: small
duration: 200us
bin: 50us
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {xoff: 20KB, headroom: 40KB}, nic: {payload: 1000B}}
nics: {h0..h2: }
switches: {s0: }
links: [{endpoints: ["h0..h2", s0]}]
flows: [{name: F0, from: h0, to: h2, size: 10KB}]
bursts: [{name: B, from: h0..h1, to: h2, flows_per_sender: 1, size: 64KB, at: 20us}]
`

func run(t *testing.T) (*topology.Scenario, *measure.Run, *Events) {
	t.Helper()
	s, err := scenariofile.Parse("small", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Replay(t.Context(), s, r.Digest, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s, r, e
}

// Flows of a workload are not part of an incast.
func TestFlowsOfAWorkloadAreNormalFlows(t *testing.T) {
	text := strings.Replace(small, "bursts: [{name: B, from: h0..h1, to: h2, flows_per_sender: 1, size: 64KB, at: 20us}]",
		"workloads: [{name: w, sizes: hadoop, load: 0.5}]", 1)
	s, err := scenariofile.Parse("small", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Replay(t.Context(), s, digestOf(t, s), 1)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := e.WriteFCT(&b, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) < 3 {
		t.Fatalf("%d lines: %s", len(lines), b.String())
	}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) != 8 || f[3] != "100" {
			t.Errorf("%s", line)
		}
	}
}

func digestOf(t *testing.T, s *topology.Scenario) string {
	t.Helper()
	r, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Digest
}

// The expected line of F0 in fct.txt, by hand: h0 is node 0, h2 node 2, so 0x0b000001
// and 0x0b000201; a single flow has port 100. Alone its 10 packets of 1000 bytes take
// two propagations of 2 us, twice 200 ns for a payload on 40 Gbit/s, and their bytes
// with 62 of headers each, and a RETH of 16, at 5 bytes a ns.
func TestFCT(t *testing.T) {
	s, _, e := run(t)
	var b strings.Builder
	if err := e.WriteFCT(&b, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %s", len(lines), b.String())
	}
	const total = 10*1062 + 16
	var sip, dip string
	var sport, dport, size, start, fct, alone int64
	if _, err := fmt.Sscan(lines[0], &sip, &dip, &sport, &dport, &size, &start, &fct, &alone); err != nil {
		t.Fatal(err)
	}
	got := []any{sip, dip, sport, dport, size, start, alone}
	want := []any{"0b000001", "0b000201", int64(s.Flows[0].Source), int64(100), int64(10000), int64(0), int64(4000 + 400 + total/5)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("F0: %s", d)
	}
	if fct < alone-1000 || fct > alone+1000 {
		t.Errorf("alone F0 took %d ns, computed %d", fct, alone)
	}
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) != 8 || f[1] != "0b000201" || f[3] != "200" || f[4] != "64000" || f[5] != "20000" {
			t.Errorf("a flow of the burst: %q", line)
		}
	}
}

// pfc.txt contains PAUSE and RESUME where they arrived: at the hosts h0 and h1,
// interface 1. Each RESUME follows a PAUSE; the run counts the same number of PAUSEs.
func TestPFC(t *testing.T) {
	s, r, e := run(t)
	var b strings.Builder
	if err := e.WritePFC(&b, s); err != nil {
		t.Fatal(err)
	}
	paused, pauses, last := map[string]bool{}, int64(0), int64(0)
	for line := range strings.Lines(b.String()) {
		var at int64
		var node, kind, face, pause string
		if n, err := fmt.Sscan(line, &at, &node, &kind, &face, &pause); n != 5 || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if at < last || kind != "0" || face != "1" || node != "0" && node != "1" || pause == "0" && !paused[node] {
			t.Errorf("%q", line)
		}
		last, paused[node] = at, pause == "1"
		if pause == "1" {
			pauses++
		}
	}
	want := int64(0)
	for _, p := range r.Pauses {
		want += p.XOFF
	}
	if pauses != want || want == 0 {
		t.Errorf("%d pauses, the run has %d\n%s", pauses, want, b.String())
	}
}

// By hand: four samples of two ports, one of which never had a queue.
func TestQueues(t *testing.T) {
	s, _, _ := run(t)
	series := &measure.RunSeries{Bin: 50 * unit.Microsecond, Queues: []measure.QueueSeries{{Port: "s0->h2", End: []int64{0, 999, 2500, 2000}}}}
	var b strings.Builder
	if err := WriteQueues(&b, s, series); err != nil {
		t.Fatal(err)
	}
	if want := "time: 200000\n3 1 4\n3 2 4\n3 3 2 0 2\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// CSV and Parquet contain the same rows, with units in the column names.
func TestTables(t *testing.T) {
	s, r, e := run(t)
	headers := map[string]string{
		"queues": "from_ps,to_ps,port,queue_peak_bytes,queue_bytes", "pauses": "from_ps,to_ps,link,pause_frames",
		"rates": "from_ps,to_ps,flow,rate_bps", "delivered": "from_ps,to_ps,flow,delivered_bytes", "sent": "from_ps,to_ps,flow,sent_bytes",
		"fct": "flow,from,to,size_bytes,start_ps,fct_ps,standalone_fct_ps", "pfc": "at_ps,node,port,sent_by,class,quanta", "nodes": "id,name,kind",
	}
	for _, table := range append(Series(r), e.FCT(s), e.Frames(s), Nodes(s)) {
		var text, columns bytes.Buffer
		if err := sweep.WriteCSV(&text, table); err != nil {
			t.Fatal(err)
		}
		if err := sweep.WriteParquet(&columns, table); err != nil {
			t.Fatal(err)
		}
		header, rest, _ := strings.Cut(text.String(), "\n")
		if header != headers[table.Name] {
			t.Errorf("%s has the header %q", table.Name, header)
		}
		f, err := parquet.OpenFile(bytes.NewReader(columns.Bytes()), int64(columns.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(strings.Count(rest, "\n")); f.NumRows() != n || n == 0 {
			t.Errorf("%s: %d rows of CSV, %d of Parquet", table.Name, n, f.NumRows())
		}
		delete(headers, table.Name)
	}
	if len(headers) > 0 {
		t.Errorf("no table of %v", headers)
	}
	var queues strings.Builder
	if err := sweep.WriteCSV(&queues, Series(r)[0]); err != nil || !strings.Contains(queues.String(), "\n50000000,100000000,s0->h2,") {
		t.Errorf("%v\n%s", err, queues.String())
	}
}

// Replay on several cores returns the same events.
func TestCoresDoNotChangeTheEvents(t *testing.T) {
	s, r, want := run(t)
	if len(want.PFC) == 0 || len(want.Flows) == 0 {
		t.Fatalf("%d PFC frames, %d flows", len(want.PFC), len(want.Flows))
	}
	for n := 2; n <= len(s.Nodes); n++ {
		got, err := Replay(t.Context(), s, r.Digest, n)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%d cores: %v %s", n, err, diff)
		}
	}
}

// Replay rejects a run that does not repeat, and can be stopped.
func TestReplayChecksTheDigest(t *testing.T) {
	s, r, _ := run(t)
	if _, err := Replay(t.Context(), s, "0123456789abcdef", 1); err == nil || !strings.Contains(err.Error(), "digest "+r.Digest+" in memory, but 0123456789abcdef") {
		t.Errorf("%v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if e, err := Replay(stopped, s, r.Digest, 1); e != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v %v", e, err)
	}
}

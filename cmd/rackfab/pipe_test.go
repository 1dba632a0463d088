package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

const pipedScenario = `name: tiny
duration: 60us
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h1: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h1, r0", s0]}]
flows: [{name: F0, from: h0, to: r0, size: endless}]
`

// unreadOutput runs rackfab in a folder. Standard output and standard error are pipes that nobody reads.
func unreadOutput(t *testing.T, dir string, args ...string) error {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	c := exec.CommandContext(t.Context(), "rackfab", args...)
	c.Dir, c.Stdout, c.Stderr = dir, w, w
	return c.Run()
}

// A command whose output nobody reads any more, as in `rackfab run | head`, writes its files and ends
// with its own exit status.
func TestUnreadOutput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tiny.yaml"), []byte(pipedScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		line  string
		files []string
	}{
		{"run tiny.yaml --bus memory --output a", []string{"a/results.json", "a/series.json", "a/manifest.json", "a/report.html"}},
		{"run tiny.yaml --bus memory --json --output b", []string{"b/results.json", "b/report.html"}},
		{"run rttx-example --bus memory --output c", []string{"c/rttx-example.json"}},
		{"sweep tiny.yaml --set link.delay=1us --scheme pfc --output d", []string{"d/table.csv", "d/plot.svg"}},
		{"report a b --output e", []string{"e/report.html"}},
		{"export a", []string{"a/export/pfc/fct.csv", "a/export/pcn/fct.csv"}},
		{"init racks", []string{"racks/victim-flow.yaml"}},
		{"compose star-2 -o compose.yaml", []string{"compose.yaml"}},
		{"compose star-2", nil},
		{"kubernetes star-2 -o k.yaml", []string{"k.yaml"}},
		{"certs star-2", []string{"certs/h0/tls.pem"}},
		{"capture tiny.yaml --at s0 -o s0.pcapng", []string{"s0.pcapng"}},
		{"capture tiny.yaml --at s0 -o -", nil},
		{"explain pause tiny.yaml --link s0->r0", nil},
		{"scenario star-2", nil},
		{"topology check tiny.yaml", nil},
		{"torture --schedules 1", nil},
		{"schemes", nil},
		{"version", nil},
		{"help run", nil},
		{"completion bash", nil},
	} {
		if err := unreadOutput(t, dir, strings.Fields(tt.line)...); err != nil {
			t.Errorf("%s: %v", tt.line, err)
		}
		for _, file := range tt.files {
			if is, err := os.Stat(filepath.Join(dir, file)); err != nil || is.Size() == 0 {
				t.Errorf("%s: %s is missing or empty: %v", tt.line, file, err)
			}
		}
	}
	if err := unreadOutput(t, dir, "run", "missing.yaml"); err == nil {
		t.Error("a fault of the command is lost")
	}
}

// A command that prints until it is interrupted ends when nobody reads its output any more.
func TestUnreadEvents(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	rackfabv1.RegisterFabricServiceServer(s, fading{down: make(chan struct{})})
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	for _, line := range []string{"watch", "capture --at s0 -o -"} {
		if err := unreadOutput(t, t.TempDir(), append(strings.Fields(line), "--address", l.Addr().String())...); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// looksAt calls look at the first write.
type looksAt struct {
	bytes.Buffer
	look func()
}

func (l *looksAt) Write(b []byte) (int, error) {
	if l.Len() == 0 {
		l.look()
	}
	return l.Buffer.Write(b)
}

// Files are written before the first line is printed.
func TestFilesBeforeOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tiny.yaml", []byte(pipedScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, file string }{
		{"run tiny.yaml --bus memory --output a", "a/report.html"},
		{"run tiny.yaml --bus memory --json --output b", "b/report.html"},
		{"run rttx-example --bus memory --output c", "c/rttx-example.json"},
		{"sweep tiny.yaml --set link.delay=1us --scheme pfc --output d", "d/table.csv"},
		{"report a b --output e", "e/report.html"},
		{"compose star-2 -o compose.yaml", "compose.yaml"},
		{"certs star-2", "certs/h0/tls.pem"},
	} {
		c := root()
		out := &looksAt{look: func() {
			if _, err := os.Stat(tt.file); err != nil {
				t.Errorf("%s prints before it writes: %v", tt.line, err)
			}
		}}
		c.SetOut(out)
		c.SetErr(&bytes.Buffer{})
		c.SetArgs(slices.Clip(strings.Fields(tt.line)))
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", tt.line, err)
		}
	}
}

package spawn

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A child that ignores stop is killed.
func TestStopKillsAStuckChild(t *testing.T) {
	p, err := newSpawner(t).Start(Command{Name: "stuck", Role: "stuck"})
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(time.Millisecond)
	if got := p.Failure("").State; got != "signal: killed" {
		t.Errorf("ended with %s", got)
	}
}

// A child ends when its standard input does. That is how it detects the death of its
// launcher where the kernel does not kill it.
func TestChildEndsWithItsInput(t *testing.T) {
	child := exec.Command(os.Args[0], "wait")
	child.Env = append(append(os.Environ(), childEnv...), parentVariable+"=stdin")
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	_ = input.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	var text strings.Builder
	for range 30 {
		text.WriteString("line\n")
	}
	text.WriteString(strings.Repeat("x", 10_000) + "\nlast")
	var kept tail
	eachLine(strings.NewReader(text.String()), kept.add)
	lines := kept.last()
	if len(lines) != tailLines || lines[len(lines)-1] != "last" {
		t.Fatalf("kept %d lines: %q", len(lines), lines)
	}
	if long := lines[len(lines)-2]; len(long) > lineLength+3 {
		t.Errorf("kept %d bytes of a long line", len(long))
	}
}

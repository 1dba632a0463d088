package spawn

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// Limits of the kept part of a child's log.
const (
	tailLines  = 20
	lineLength = 500 // bytes; the rest of a longer line is cut off
)

// tail keeps the last lines of a child's log. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// add appends a line and drops the oldest one beyond tailLines.
func (t *tail) add(line string) {
	if len(line) > lineLength {
		line = line[:lineLength] + "..."
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
}

// last returns a copy of the lines, oldest first.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}

// eachLine calls do with every line of r until r ends. It truncates lines longer than
// its buffer.
func eachLine(r io.Reader, do func(string)) {
	lines := bufio.NewReaderSize(r, 4096)
	for {
		line, long, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		for long && err == nil {
			_, long, err = lines.ReadLine()
		}
		do(text)
	}
}

// logWriter writes whole lines of several children to one writer. It is safe for
// concurrent use. With a nil writer, it discards the lines.
type logWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *logWriter) line(name, text string) {
	if l.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.w, "%s: %s\n", name, text)
}

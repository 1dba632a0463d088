package imports

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// words reads a file word by word. After the end of the file, which is a fault, all words are
// empty and all numbers 0.
type words struct {
	*faults
	file  string
	rest  []byte
	line  int    // of the last word
	next  int    // of rest
	part  string // what ends: the file, or a line of it
	ended bool
}

func wordsOf(f File, to *faults) *words {
	return &words{faults: to, file: f.Name, rest: f.Data, line: 1, next: 1, part: "file"}
}

// word returns the next word. what names it in faults.
func (w *words) word(what string) string {
	w.skip()
	if len(w.rest) == 0 {
		if !w.ended {
			w.fault(w.file, w.next, "the %s ends before %s", w.part, what)
		}
		w.ended = true
		return ""
	}
	w.line = w.next
	end := 0
	for end < len(w.rest) && !space(w.rest[end]) {
		end++
	}
	text := string(w.rest[:end])
	w.rest = w.rest[end:]
	return text
}

// entry begins a line with words, and returns the number of them. Another number than those allowed is a fault, with
// wanted, and ends the reading, as the other lines are probably alike.
func (w *words) entry(what, wanted string, allowed ...int) int {
	w.skip()
	line, _, _ := bytes.Cut(w.rest, []byte("\n"))
	n := len(bytes.Fields(line))
	switch {
	case n == 0:
		w.word(what) // the fault of the end
	case !slices.Contains(allowed, n):
		w.fault(w.file, w.next, "%s, want %s", unit.Counted(n, "word"), wanted)
		w.rest, w.ended = nil, true
	}
	return n
}

// skip makes rest begin with the next word, or be empty, and counts the lines before it.
func (w *words) skip() {
	for i, c := range w.rest {
		if !space(c) {
			w.rest = w.rest[i:]
			return
		}
		if c == '\n' {
			w.next++
		}
	}
	w.rest = nil
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// integer returns the next word as a number in a range.
func (w *words) integer(what string, lo, hi int64) int64 {
	text := w.word(what)
	if w.ended {
		return 0
	}
	n, _ := w.faults.integer(w.file, w.line, what, text, lo, hi)
	return n
}

// share returns the next word as a number from 0 to 1.
func (w *words) share(what string) float64 {
	text := w.word(what)
	p, err := strconv.ParseFloat(text, 64)
	if !w.ended && (err != nil || !(p >= 0 && p <= 1)) { // rejects NaN too
		w.fault(w.file, w.line, "%s %q, want a number from 0 to 1", what, text)
		return 0
	}
	return p
}

// rate returns the next word as a rate.
func (w *words) rate(what string) unit.Rate {
	text := w.word(what)
	r, err := parseRate(text)
	if !w.ended && (err != nil || r < unit.KilobitPerSec || r > 10000*unit.GigabitPerSec) {
		w.fault(w.file, w.line, "%s %q, want 1Kbps to 10Tbps, like 100Gbps or 50Mb/s", what, text)
		return unit.KilobitPerSec
	}
	return r
}

// time returns the next word, in a unit or with its own if unitOf is "", as a time in a range.
func (w *words) time(what, unitOf string, lo, hi unit.Time) unit.Time {
	text := w.word(what)
	t, err := unit.ParseTime(decimal(text) + unitOf)
	if !w.ended && (err != nil || t < lo || t > hi) {
		w.fault(w.file, w.line, "%s %q, want %s to %s", what, text, lo, hi)
		return lo
	}
	return t
}

// decimal returns a number with an exponent, as programs print small ones, without it. Other text stays as it is.
func decimal(text string) string {
	if x, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, "eE") && x >= 0 && x < 1e6 {
		return strconv.FormatFloat(x, 'f', 12, 64) // picoseconds, if the unit is a second
	}
	return text
}

// parseRate parses a rate as ns-3 writes it: "100Gbps" or "50Mb/s".
func parseRate(text string) (unit.Rate, error) {
	return unit.ParseRate(strings.Replace(text, "b/s", "bps", 1))
}

// ranges writes the names of nodes, with runs of consecutive numbers as ranges: "h0..h3", "h7".
func ranges(prefix string, ids []int) (names []string) {
	for i := 0; i < len(ids); {
		last := i
		for last+1 < len(ids) && ids[last+1] == ids[last]+1 {
			last++
		}
		name := prefix + strconv.Itoa(ids[i])
		if last > i {
			name += ".." + prefix + strconv.Itoa(ids[last])
		}
		names = append(names, name)
		i = last + 1
	}
	return names
}

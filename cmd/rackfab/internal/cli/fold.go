package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// WriteFolded writes a table of style narrow, folded to the width of w if w is a
// terminal. The first columns, as many as names says, identify a row.
func WriteFolded(w io.Writer, table string, names int, groups ...string) error {
	text := trimmed(table)
	if width := TerminalWidth(w); width > 0 {
		text = Fold(table, width, names, groups)
	}
	_, err := io.WriteString(w, text)
	return err
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth returns the width of the terminal w in columns. It returns 0 if w is
// not a terminal, or if its size is unknown.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Gap is the minimum number of blanks between two columns.
const Gap = 2

// Fold splits a table that is wider than width between columns, into tables below each
// other. Each part begins with the columns that identify a row. Columns of one group,
// by the table's first line, stay together. If groups is nil, the table has no groups,
// and a column that is too wide by itself is wrapped. Every line of the result ends in
// "\n".
func Fold(table string, width, names int, groups []string) string {
	lines := grid(table)
	starts := append(columnStarts(lines, groups), len(lines[0])+Gap)
	if len(lines[0]) <= width || len(starts) < names+2 {
		return trimmed(table)
	}
	wrap := width
	if groups != nil {
		wrap = 0
	}
	var parts []string
	stub, from := starts[names], starts[names]
	for i := names + 1; i < len(starts); i++ {
		if next := starts[min(i+1, len(starts)-1)]; i == len(starts)-1 || stub+next-Gap-from > width {
			parts, from = append(parts, block(lines, stub, from, starts[i]-Gap, wrap)), starts[i]
		}
	}
	return strings.Join(parts, "\n")
}

// grid returns the lines of text, padded to equal length.
func grid(text string) (lines [][]rune) {
	longest := 0
	for line := range strings.Lines(text) {
		lines = append(lines, []rune(strings.TrimRight(line, "\n")))
		longest = max(longest, len(lines[len(lines)-1]))
	}
	for i, line := range lines {
		lines[i] = append(line, []rune(strings.Repeat(" ", longest-len(line)))...)
	}
	return lines
}

// columnStarts returns the offsets at which columns begin: the left edge, and the right
// end of each gap that all lines share. Gaps within a group do not count.
func columnStarts(lines [][]rune, groups []string) []int {
	starts, empty, column := []int{0}, 0, 0
	if groups != nil {
		lines = lines[1:]
	}
	for at := range lines[0] {
		blank := true
		for _, line := range lines {
			blank = blank && (line[at] == ' ' || line[at] == '─')
		}
		if blank {
			empty++
			continue
		}
		if empty >= Gap && at > empty {
			column++
			if column >= len(groups) || groups[column] == "" || groups[column] != groups[column-1] {
				starts = append(starts, at-empty+Gap) // right-aligned text begins further right
			}
		}
		empty = 0
	}
	return starts
}

// trimmed removes trailing blanks from every line of a table, and its leading blank
// lines.
func trimmed(table string) string {
	var b strings.Builder
	for line := range strings.Lines(table) {
		if line = strings.TrimRight(line, " \n"); line != "" || b.Len() > 0 {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// leastText is the minimum width to which a column of text is wrapped. A narrower
// terminal breaks lines by itself.
const leastText = 16

// block writes the first stub cells of each line and its cells in [from, to), wrapped
// to width; 0 disables wrapping. Lines without text are omitted: the text that made the
// row high is in another block.
func block(lines [][]rune, stub, from, to, width int) string {
	var b strings.Builder
	for from < to && !slices.ContainsFunc(lines, func(line []rune) bool { return line[from] != ' ' && line[from] != '─' }) {
		from++ // right-aligned text begins further right
	}
	room := max(width-stub, leastText)
	for _, line := range lines {
		left, cells := string(line[:stub]), strings.TrimRight(string(line[from:to]), " ")
		switch {
		case strings.TrimSpace(left+cells) == "":
			continue
		case width > 0 && strings.Trim(cells, "─") == "":
			cells = string([]rune(cells)[:min(room, utf8.RuneCountInString(cells))])
		case width > 0 && utf8.RuneCountInString(cells) > room:
			cells = text.WrapSoft(cells, room)
		}
		for part := range strings.SplitSeq(cells, "\n") {
			b.WriteString(strings.TrimRight(left+part, " ") + "\n")
			left = strings.Repeat(" ", stub)
		}
	}
	return b.String()
}

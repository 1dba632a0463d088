package table

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of the terminal w in columns. It returns 0 if w is not a
// terminal, or if its size is unknown.
func Width(w io.Writer) int {
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

// Wrap breaks the lines of text between words, so that they have at most width
// characters. A longer word is broken, and shorter lines are kept as they are.
func Wrap(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) <= width {
			out = append(out, line)
			continue
		}
		wrapped := ""
		for word := range strings.FieldsSeq(line) {
			if used := utf8.RuneCountInString(wrapped); used > 0 && used+1+utf8.RuneCountInString(word) > width {
				out, wrapped = append(out, wrapped), ""
			}
			for runes := []rune(word); len(runes) > width; runes = []rune(word) {
				out, word = append(out, string(runes[:width])), string(runes[width:])
			}
			wrapped = strings.TrimLeft(wrapped+" "+word, " ")
		}
		out = append(out, wrapped)
	}
	return strings.Join(out, "\n")
}

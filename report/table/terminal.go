package table

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of the terminal w in columns: that of the environment variable COLUMNS,
// or else of the terminal itself. It returns 0 if w is not a terminal, or if its size is unknown.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return 0
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
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

// WrapFor wraps text for w, if that is a terminal of known width.
func WrapFor(w io.Writer, text string) string {
	if width := Width(w); width > 0 {
		return Wrap(text, width)
	}
	return text
}

// Fold breaks the lines of text between words, so that they have at most width characters.
// Continued lines are indented by two characters more than the line, or to the text after its
// label, which ends with two blanks or more. Lines with more columns are kept as they are.
func Fold(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		label := labelOf(words)
		words = words[len(label):]
		head := line[:len(line)-len(words)]
		indent := utf8.RuneCountInString(head)
		if label == "" {
			indent += 2
		}
		if utf8.RuneCountInString(line) <= width || strings.Contains(words, "  ") || width-indent < fitWidth {
			out = append(out, line)
			continue
		}
		out = append(out, head+strings.ReplaceAll(Wrap(words, width-indent), "\n", "\n"+strings.Repeat(" ", indent)))
	}
	return strings.Join(out, "\n")
}

// maxLabel is the largest length of a label, with the blanks after it.
const maxLabel = 18

// labelOf returns the first words of a line with the two blanks or more that end them, or "".
func labelOf(words string) string {
	i := strings.Index(words, "  ")
	if i < 0 {
		return ""
	}
	label := words[:len(words)-len(strings.TrimLeft(words[i:], " "))]
	if len(label) > maxLabel {
		return ""
	}
	return label
}

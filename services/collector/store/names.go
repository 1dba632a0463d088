package store

import "strings"

// Limits of the names of a run. A text of an attribute beyond the first two is stored in full
// where it is used. The others bound the texts of columns: the longest name of a flow has some
// 200 bytes, and other programs export spans too.
const (
	maxNames   = 1 << 16
	maxLength  = 64      // bytes
	maxColumns = 1 << 20 // names, those of attributes included
	maxColumn  = 1 << 10 // bytes
)

// texts are the names of a run by number: texts that recur, such as names of nodes, flows
// and attributes. Number 0 is "".
type texts []string

// of returns the name with the given number, or "" if there is none.
func (t texts) of(number uint32) string {
	if int(number) < len(t) {
		return t[number]
	}
	return ""
}

// name returns the number of a text, and assigns one to a new text. It reports false if
// the text is too long or there are too many names.
func (w *writer) name(t string) (uint32, bool, error) {
	return w.number(t, len(t) <= maxLength && len(*w.texts.Load()) < maxNames)
}

// column is like name, for a text that must have a number. A text beyond the limits of columns
// is cut to maxColumn, at the end of a character, or becomes "".
func (w *writer) column(t string) (uint32, error) {
	if len(t) > maxColumn {
		t = strings.ToValidUTF8(t[:maxColumn], "")
	}
	n, _, err := w.number(t, len(*w.texts.Load()) < maxColumns)
	return n, err
}

// number returns the number of a text, and assigns one to a new text if fits is true.
func (w *writer) number(t string, fits bool) (uint32, bool, error) {
	if n, ok := w.numbers[t]; ok || !fits {
		return n, ok, nil
	}
	names := *w.texts.Load()
	n := uint32(len(names))
	w.numbers[t] = n
	names = append(names, t) // queries read the shorter slice meanwhile
	w.texts.Store(&names)
	return n, true, w.bucket(bucketNames).Put(key32(n), []byte(t))
}

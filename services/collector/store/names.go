package store

// Limits of the names of a run. A text beyond them is stored in full where it is used.
const (
	maxNames  = 1 << 16
	maxLength = 64 // bytes
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
	if n, ok := w.numbers[t]; ok {
		return n, true, nil
	}
	names := *w.texts.Load()
	if len(t) > maxLength || len(names) >= maxNames {
		return 0, false, nil
	}
	n := uint32(len(names))
	w.numbers[t] = n
	names = append(names, t) // queries read the shorter slice meanwhile
	w.texts.Store(&names)
	return n, true, w.bucket(bucketNames).Put(key32(n), []byte(t))
}

// column is like name, for a text that must have a number. A text beyond the limits is
// cut to maxLength or becomes "".
func (w *writer) column(t string) (uint32, error) {
	if len(t) > maxLength {
		t = t[:maxLength]
	}
	n, _, err := w.name(t)
	return n, err
}

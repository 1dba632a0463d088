package store

// Limits of the names of a run. A text beyond them is stored in full where it is used.
const (
	maxNames  = 1 << 16
	maxLength = 64 // bytes
)

// names assigns numbers to texts that recur: names of nodes, flows and attributes.
// Number 0 is "".
type names struct {
	numbers map[string]uint32
	texts   texts
}

func newNames() names {
	return names{numbers: map[string]uint32{"": 0}, texts: texts{""}}
}

// add assigns the next number to a text.
func (n *names) add(text string) uint32 {
	number := uint32(len(n.texts))
	n.numbers[text] = number
	n.texts = append(n.texts, text)
	return number
}

// texts maps numbers to names.
type texts []string

// of returns the name with the given number, or "" if there is none.
func (t texts) of(number uint32) string {
	if int(number) < len(t) {
		return t[number]
	}
	return ""
}

// texts returns the names so far. The slice may be read while names are added.
func (r *run) texts() texts {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names.texts
}

// numberOf returns the number of a name. It reports false if the name has none.
func (r *run) numberOf(name string) (uint32, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n, ok := r.names.numbers[name]
	return n, ok
}

// name returns the number of a text, and assigns one to a new text. It reports false if
// the text is too long or there are too many names.
func (w *writer) name(t string) (uint32, bool, error) {
	if n, ok := w.names.numbers[t]; ok { // only the writer changes it
		return n, true, nil
	}
	if len(t) > maxLength || len(w.names.texts) >= maxNames {
		return 0, false, nil
	}
	w.mu.Lock()
	n := w.names.add(t)
	w.mu.Unlock()
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

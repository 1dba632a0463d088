package store

import "encoding/binary"

// Limits of the names of a run. A text beyond them is stored in full where it is used.
const (
	maxNames  = 1 << 16
	maxLength = 64 // bytes
)

// names assigns numbers to texts that recur: names of nodes, flows and attributes.
// Number 0 is "".
type names struct {
	numbers map[string]uint32
	texts   []string
}

func newNames() names {
	return names{numbers: map[string]uint32{"": 0}, texts: []string{""}}
}

// load adds a name from its bucket. Names must be added in the order of their numbers.
func (n *names) load(_, text []byte) error {
	n.numbers[string(text)] = uint32(len(n.texts))
	n.texts = append(n.texts, string(text))
	return nil
}

// text returns the name with the given number, or "" if there is none.
func text(texts []string, number uint32) string {
	if int(number) < len(texts) {
		return texts[number]
	}
	return ""
}

// known returns the names so far. The slice may be read while names are added.
func (r *run) known() []string {
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

func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func number32(key []byte) uint32 { return binary.BigEndian.Uint32(key) }

// sortable maps signed numbers to unsigned ones of the same order.
func sortable(v int64) uint64 { return uint64(v) ^ 1<<63 }

func unsortable(v uint64) int64 { return int64(v ^ 1<<63) }

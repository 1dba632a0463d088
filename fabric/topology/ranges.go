package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxNodes bounds the nodes of a scenario, and the names of one range. A 3-tier fat tree
// of 64-port switches has 70,656 nodes. The addresses of hosts allow frame.MaxHosts.
const MaxNodes = 1 << 17

// NamePattern is the pattern of names. They are safe in file names and in NATS
// subjects.
const NamePattern = `[A-Za-z][A-Za-z0-9_-]{0,62}`

// ValidName reports whether s matches NamePattern.
func ValidName(s string) bool {
	if s == "" || len(s) > 63 || !letter(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !letter(c) && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Names parses a comma-separated list of names and ranges, "h0, h3..h5". It
// returns the names in the order written, and an error if a name is repeated.
func Names(list string) ([]string, error) {
	var names []string
	seen := map[string]bool{}
	for item := range strings.SplitSeq(list, ",") {
		some, err := expandRange(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		for _, name := range some {
			if seen[name] {
				return nil, fmt.Errorf("%q contains %s twice", list, name)
			}
			seen[name] = true
		}
		if names = append(names, some...); len(names) > MaxNodes {
			return nil, fmt.Errorf("%q names more than %d nodes", list, MaxNodes)
		}
	}
	return names, nil
}

// expandRange parses one name, or a range "h2..h15", inclusive.
func expandRange(item string) ([]string, error) {
	first, last, isRange := strings.Cut(item, "..")
	if !ValidName(first) || isRange && !ValidName(last) {
		return nil, fmt.Errorf("%q is neither a name that matches %s nor a range like h2..h15", item, NamePattern)
	}
	if !isRange {
		return []string{first}, nil
	}
	prefix, lo, okLo := numbered(first)
	other, hi, okHi := numbered(last)
	switch {
	case !okLo || !okHi:
		return nil, fmt.Errorf("invalid range %q, want both ends to finish in a number without leading zeros, like h2..h15", item)
	case prefix != other:
		return nil, fmt.Errorf("invalid range %q, want the same letters at both ends, like h2..h15", item)
	case lo > hi:
		return nil, fmt.Errorf("invalid range %q, want the smaller number first", item)
	case hi-lo >= MaxNodes:
		return nil, fmt.Errorf("invalid range %q, want at most %d names", item, MaxNodes)
	}
	names := make([]string, 0, hi-lo+1)
	for i := lo; i <= hi; i++ {
		names = append(names, prefix+strconv.FormatUint(i, 10))
	}
	return names, nil
}

// numbered splits "h15" into "h" and 15. It rejects numbers with leading zeros, and
// numbers of more than 32 bits.
func numbered(name string) (prefix string, n uint64, ok bool) {
	prefix = strings.TrimRight(name, "0123456789")
	digits := name[len(prefix):]
	n, err := strconv.ParseUint(digits, 10, 32)
	return prefix, n, err == nil && strconv.FormatUint(n, 10) == digits
}

// JoinNames returns the text that Names parses to these names. Consecutive numbers form a
// range.
func JoinNames(names []string) string {
	var b strings.Builder
	for i := 0; i < len(names); {
		first := i
		for i++; i < len(names) && follows(names[i-1], names[i]); i++ {
		}
		if first > 0 {
			b.WriteString(", ")
		}
		b.WriteString(names[first])
		if i > first+1 {
			b.WriteString("..")
			b.WriteString(names[i-1])
		}
	}
	return b.String()
}

// follows reports whether b is the name after a in a range, like h2 after h1.
func follows(a, b string) bool {
	prefix, n, okA := numbered(a)
	other, next, okB := numbered(b)
	return okA && okB && prefix == other && next == n+1
}

package bus

import (
	"errors"
	"fmt"
	"strings"
)

// subjectRoot is the first token of every rackfab subject.
const subjectRoot = "rackfab"

// LinkSubject returns the subject of the envelopes from one group to another in a run:
// rackfab.<run>.link.<from>.<to>. A group has the name of its first node.
func LinkSubject(run, from, to string) string {
	return fmt.Sprintf("%s.%s.link.%s.%s", subjectRoot, run, from, to)
}

// InPattern matches the subjects of all envelopes to a group in a run.
func InPattern(run, group string) string { return LinkSubject(run, "*", group) }

// outPattern matches the subjects of all envelopes from a group in a run.
func outPattern(run, group string) string { return LinkSubject(run, group, "*") }

// AnnouncementSubject returns the subject on which a node of a rack announces itself:
// rackfab.rack.<rack>.hello.<node>.
func AnnouncementSubject(rack, node string) string {
	return fmt.Sprintf("%s.rack.%s.hello.%s", subjectRoot, rack, node)
}

// AnnouncementPattern matches the announcement subjects of all nodes of a rack.
func AnnouncementPattern(rack string) string { return AnnouncementSubject(rack, "*") }

// QuerySubject returns the subject of the query that all nodes of a rack answer with an
// announcement.
func QuerySubject(rack string) string { return fmt.Sprintf("%s.rack.%s.who", subjectRoot, rack) }

// CheckToken returns an error unless name is a valid token of a subject: not empty,
// and without dots, wildcards, spaces and control characters.
func CheckToken(name string) error {
	if name == "" {
		return errors.New("empty name")
	}
	bad := strings.IndexFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(".*>", r)
	})
	if bad >= 0 {
		return fmt.Errorf("name %q: %q at byte %d is not allowed, want no dot, wildcard, space or control character", name, name[bad], bad)
	}
	return nil
}

// fits reports whether subject matches pattern, token by token.
func fits(pattern, subject string) bool {
	for {
		p, restP, moreP := strings.Cut(pattern, ".")
		s, restS, moreS := strings.Cut(subject, ".")
		if p != "*" && p != s || moreP != moreS {
			return false
		}
		if !moreP {
			return true
		}
		pattern, subject = restP, restS
	}
}

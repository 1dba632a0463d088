package bus

import (
	"fmt"
	"strconv"
	"strings"
)

// subjectRoot is the first token of every subject of rackfab.
const subjectRoot = "rackfab"

// End is one end of a link: a port of a node.
type End struct {
	Node string
	Port int
}

// String names the end, "leaf0:3".
func (e End) String() string { return e.Node + ":" + strconv.Itoa(e.Port) }

// LinkSubject names the one-way link from one end to the other in a run:
// rackfab.<run>.link.<node>.<port>.<node>.<port>. The ports keep parallel links
// between two nodes apart.
func LinkSubject(run string, from, to End) string {
	return fmt.Sprintf("%s.%s.link.%s.%d.%s.%d", subjectRoot, run, from.Node, from.Port, to.Node, to.Port)
}

// NodePattern fits the subjects of every link that leads to node in a run.
func NodePattern(run, node string) string {
	return fmt.Sprintf("%s.%s.link.*.*.%s.*", subjectRoot, run, node)
}

// outPattern fits the subjects of every link that leads away from node in a run.
func outPattern(run, node string) string {
	return fmt.Sprintf("%s.%s.link.%s.*.*.*", subjectRoot, run, node)
}

// HelloSubject is where a node of a rack says where it is:
// rackfab.rack.<rack>.hello.<node>.
func HelloSubject(rack, node string) string {
	return fmt.Sprintf("%s.rack.%s.hello.%s", subjectRoot, rack, node)
}

// HelloPattern fits the hello subjects of all nodes of a rack.
func HelloPattern(rack string) string { return HelloSubject(rack, "*") }

// WhoSubject is where all nodes of a rack are asked to say hello.
func WhoSubject(rack string) string { return fmt.Sprintf("%s.rack.%s.who", subjectRoot, rack) }

// CheckToken tells why name cannot be a token of a subject, nil if it can: it
// is not empty and has no dot, wildcard, space or control character.
func CheckToken(name string) error {
	if name == "" {
		return fmt.Errorf("name is empty")
	}
	bad := strings.IndexFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(".*>", r)
	})
	if bad >= 0 {
		return fmt.Errorf("name %q has %q at byte %d, which a subject cannot carry", name, name[bad], bad)
	}
	return nil
}

// fits tells whether subject fits pattern, token by token.
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

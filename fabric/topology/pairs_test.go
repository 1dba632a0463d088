package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

func TestPatternsOfNICs(t *testing.T) {
	for pattern, names := range map[string][2][]string{
		"*":    {{"h0", "r"}, nil},
		"h*":   {{"h0", "h15", "h"}, {"r0", "xh"}},
		"h*1":  {{"h1", "h11", "h0-1"}, {"h", "h10"}},
		"h1":   {{"h1"}, {"h11"}},
		"*a*":  {{"a", "bac"}, {"b"}},
		"ab*b": {{"abb", "abcb"}, {"ab"}},
	} {
		for i, list := range names {
			for _, name := range list {
				s := Scenario{Nodes: []Node{{Name: name, Kind: NIC}}}
				if _, err := s.matching(pattern); (err == nil) != (i == 0) {
					t.Errorf("%s matches %s: %v", pattern, name, err)
				}
			}
		}
	}
}

// SchemeText stays short, however often flows change their scheme. It lists the
// latest changes and the number of the others.
func TestSchemeTextIsBounded(t *testing.T) {
	s := &Scenario{Scheme: "pfc"}
	change := func(flows string) {
		s.Changes = append(s.Changes, Change{At: unit.Time(len(s.Changes)), Verb: ChangeScheme, Scheme: SchemeSpec{Name: "pcn", Flows: flows}})
	}
	for i := range 3000 {
		change(fmt.Sprintf("h%d->r", i))
	}
	text := s.SchemeText(unit.Never)
	if len(text) > schemeTextLimit+100 || !strings.HasPrefix(text, "pfc, 2988 more, pcn for h2988->r, ") || !strings.HasSuffix(text, ", pcn for h2999->r") {
		t.Error(text)
	}
	change(strings.Repeat("h0,", 1<<15) + "h1->r")
	if text := s.SchemeText(unit.Never); text != "pfc, 3001 more" {
		t.Errorf("%.300s", text)
	}
	change(Everything)
	if text := s.SchemeText(unit.Never); text != "pcn" {
		t.Error(text)
	}
}

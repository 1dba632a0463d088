package scenariofile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

// parallel is the sample with four links between its switches, the third one of another rate
// and given with its ends in the other order.
func parallel(t *testing.T) *topology.Scenario {
	t.Helper()
	return parsed(t, edited(t, "  - {endpoints: [s0, s1], rate: 100Gbps}\n", `  - {endpoints: [s0, s1], parallel: 2, rate: 100Gbps}
  - {endpoints: [s1, s0], parallel: 1, rate: 25Gbps}
  - {endpoints: [s0, s1], parallel: 1, rate: 100Gbps}
`))
}

// PATH-13: names of parallel links and of their directions.
func TestParallelLinks(t *testing.T) {
	s := parallel(t)
	var names []string
	for i := range s.Links {
		names = append(names, s.LinkName(i))
		if s.LinkNamed(s.LinkName(i)) != i {
			t.Errorf("%s is link %d", s.LinkName(i), s.LinkNamed(s.LinkName(i)))
		}
	}
	if want := []string{"h0--s0", "h1--s0", "h2--s0", "h3--s0", "s0--s1", "s0--s1#2", "s1--s0#3", "s0--s1#4", "r0--s1"}; !slices.Equal(names, want) {
		t.Errorf("links %v, want %v", names, want)
	}
	if got := s.LinkNamed("s0--s1#3"); got != 6 || s.LinkNamed("s0--s1#5") != -1 || s.LinkNamed("s0--s1#1") != -1 {
		t.Errorf("s0--s1#3 is link %d", got)
	}
	if got := s.DirectionNames(6); got != [2]string{"s1->s0#3", "s0->s1#3"} {
		t.Errorf("directions %v", got)
	}
	if got := s.PeerName(s.PortMap()[4+1][6]); got != "s1#3" {
		t.Errorf("port 6 of s0 leads to %s", got)
	}
	if ports := routes.New(s, s.PortMap()).Ports(5, 4); !slices.Equal(ports, []fabric.Port{4, 5, 6, 7}) {
		t.Errorf("s0 reaches r0 by %v", ports)
	}
}

func TestParallelLinksAreWrittenAndRead(t *testing.T) {
	s := parallel(t)
	text, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again := parsed(t, string(text))
	if diff := cmp.Diff(s.Links, again.Links); diff != "" {
		t.Errorf("%s\nin\n%s", diff, text)
	}
	if strings.Count(string(text), "parallel") != 3 {
		t.Errorf("written as\n%s", text)
	}
}

// PATH-13: settings and changes name one of several links, or one direction of it.
func TestSettingsOfParallelLinks(t *testing.T) {
	text, err := Marshal(parallel(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseWith("f", text, []topology.Setting{{Key: "s0--s1#2.loss", Value: "0.1"}, {Key: "s0->s1#3.corrupt", Value: "0.2"}, {Key: "s1--s0.loss", Value: "0.3"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Links[5].Loss != (topology.Ways{0.1, 0.1}) || s.Links[6].Corrupt != (topology.Ways{0, 0.2}) || s.Links[4].Loss != (topology.Ways{0.3, 0.3}) || s.Links[7].Loss != (topology.Ways{}) {
		t.Errorf("links %+v", s.Links[4:8])
	}
	for _, link := range []string{"s0--s1#5", "h0--s0#2"} {
		if _, err := ParseWith("f", text, []topology.Setting{{Key: link + ".loss", Value: "0"}}); err == nil || !strings.Contains(err.Error(), "unknown part") {
			t.Errorf("%s: %v", link, err)
		}
		if _, err := Extend(s, topology.Change{Verb: topology.ChangeLinkDown, Link: link}); err == nil || !strings.Contains(err.Error(), "unknown link") {
			t.Errorf("%s: %v", link, err)
		}
	}
	next, err := Extend(s, topology.Change{At: 5, Verb: topology.ChangeLinkDown, Link: "s0--s1#4"})
	if err != nil {
		t.Fatal(err)
	}
	if next, err = Extend(next, topology.Change{At: 6, Verb: topology.ChangeSet, Set: topology.Setting{Key: "s0->s1#2.loss", Value: "0.5"}}); err != nil {
		t.Fatal(err)
	}
	st := StateBefore(next, 10)
	if !st.Down[7] || len(st.Down) != 1 || st.Links[5].Loss != (topology.Ways{0.5, 0.1}) {
		t.Errorf("down %v, %+v", st.Down, st.Links[5])
	}
}

func TestFaultsOfParallelLinks(t *testing.T) {
	const last = "[s0, s1], rate: 100Gbps}"
	for _, c := range []struct{ with, want string }{
		{"[s0, s1]}\n  - {endpoints: [s1, s0]}", "16: links[2].endpoints: s1 and s0 are already linked by links[1].endpoints on line 15: want parallel: 1 here for a parallel link"},
		{"[s0, s1], parallel: 0}", `15: links[1].parallel: "0" is not an integer from 1 to 1024`},
		{"[s0, s1]}\n  - {endpoints: [r0, s1], parallel: 2}", "16: links[2].parallel: r0 and s1 are not both switches: a NIC has one link"},
		{"[s0, s1]}\n  - {endpoints: [h0, s0], parallel: 1}", "16: links[2].endpoints: h0 and s0 are already linked by links[0].endpoints on line 14"},
	} {
		_, err := Parse("f", []byte(edited(t, last, c.with)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

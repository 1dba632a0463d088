package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/cc"
)

// regimes is a rack with one long flow under dcqcn.
const regimes = `name: regimes
duration: 1ms
live: true
scheme: dcqcn
nics: {h0..h2: , r0..r1: }
switches: {s0: }
links: [{endpoints: ["h0..h2, r0..r1", s0], rate: 40Gbps, delay: 1us}]
flows: [{name: F0, from: h0, to: r0, size: endless}]
changes:
`

// A class of a switch has one marking law. All schemes in use at one time must need
// the same law, in whatever order the changes were requested.
func TestOneLawAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		fault   string
	}{
		"all flows":                 {[]string{"{at: 1us, scheme: {name: pcn}}"}, ""},
		"the only flow":             {[]string{"{at: 1us, scheme: {name: pcn, flows: h0->r0}}"}, ""},
		"beside the flow":           {[]string{"{at: 1us, scheme: {name: pcn, flows: h1->r*}}"}, ""},
		"no marks beside":           {[]string{"{at: 1us, scheme: {name: timely, flows: h1->r1}}", "{at: 2us, burst: {name: b, from: h1, to: r1, size: 1KB}}"}, ""},
		"another law beside":        {[]string{"{at: 1us, scheme: {name: pcn, flows: h1->r1}}", "{at: 2us, burst: {name: b, from: h1, to: r1, size: 1KB}}"}, "changes[1].burst"},
		"asked for before":          {[]string{"{at: 2us, burst: {name: b, from: h1, to: r1, size: 1KB}}", "{at: 1us, scheme: {name: pcn, flows: h1->r1}}"}, "changes[0].burst"},
		"after the other has ended": {[]string{"{at: 1us, scheme: {name: pcn, flows: h1->r1}}", "{at: 1us, stop_flow: F0}", "{at: 2us, burst: {name: b, from: h1, to: r1, size: 1KB}}"}, ""},
		"a get brings data back":    {[]string{"{at: 1us, scheme: {name: pcn, flows: h1->r1}}", "{at: 2us, post: {name: g, verb: get, from: r1, to: h1, size: 1KB}}"}, "changes[1].post"},
		"a put goes there":          {[]string{"{at: 1us, scheme: {name: pcn, flows: h1->r1}}", "{at: 2us, post: {name: g, from: r1, to: h1, size: 1KB}}"}, ""},
		"qcn":                       {[]string{"{at: 1us, scheme: {name: qcn}}", "{at: 2us, scheme: {name: pcn, flows: h2->r1}}"}, ""},
		"no such NIC":               {[]string{"{at: 1us, scheme: {name: pcn, flows: x->r1}}"}, "changes[0].scheme.flows"},
		"a switch":                  {[]string{"{at: 1us, scheme: {name: pcn, flows: s0->r1}}"}, "changes[0].scheme.flows"},
		"no arrow":                  {[]string{"{at: 1us, scheme: {name: pcn, flows: h0}}"}, "changes[0].scheme.flows"},
		"credit":                    {[]string{"{at: 1us, scheme: {name: cbrc}}"}, "changes[0].scheme.name"},
	} {
		_, err := Parse("r.yaml", []byte(regimes+"  - "+strings.Join(c.changes, "\n  - ")+"\n"))
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), ": "+c.fault+":")):
			t.Errorf("%s: %v, want a fault of %s", name, err, c.fault)
		}
	}
}

// Flows change neither to nor from a scheme that is configured from the start. The
// refusal is one line with the reason.
func TestStaticSchemesCannotBeSwitched(t *testing.T) {
	for _, scheme := range cc.Schemes {
		to, from := "{at: 1us, scheme: {name: "+scheme.Name+"}}", "{at: 1us, scheme: {name: pfc}}"
		for why, text := range map[string]string{
			"change to " + scheme.Name + " while the rack runs: " + scheme.Name + " " + scheme.Static:       regimes + "  - " + to + "\n",
			"change from " + scheme.Name + ", the scheme of the rack: " + scheme.Name + " " + scheme.Static: strings.Replace(regimes, "dcqcn", scheme.Name, 1) + "  - " + from + "\n",
		} {
			_, err := Parse("r.yaml", []byte(text))
			if stays := scheme.Static != ""; stays != (err != nil) {
				t.Errorf("%s: %v", why, err)
			} else if stays && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), why)) {
				t.Errorf("%v, want one line with %q", err, why)
			}
		}
	}
}

// Settings may also be named by their group.
func TestGroupsOfSettings(t *testing.T) {
	s, err := Parse("r.yaml", []byte(regimes+"  - {at: 1us, set: s0.pfc.xoff=96KB}\n  - {at: 2us, set: s0.xoff=96KB}\n  - {at: 3us, set: switch.ecn.kmin=3KB}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := tuned(s, 0), tuned(s, 1); len(a) != 1 || !cmp.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
	if text := s.SchemeText(1); text != "dcqcn" {
		t.Error(text)
	}
}

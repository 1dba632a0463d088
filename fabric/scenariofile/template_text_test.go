package scenariofile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// rackOf returns a scenario with a template and nothing else.
func rackOf(t *Template) []byte {
	return t.Append([]byte("name: rack\nduration: 1ms\n"))
}

// A template on a command line makes the rack of the same section in a file.
func TestParseTemplate(t *testing.T) {
	for _, c := range []struct {
		text, section        string
		hosts, switches, cut int // cut is the part of 100 Gbit/s that each host has: 100/cut
	}{
		{"star", "star", 8, 1, 1},
		{"star:hosts=64", "star, hosts: 64", 64, 1, 1},
		{"leaf-spine", "leaf-spine", 16, 8, 1},
		{"leaf-spine:leaves=8,hosts=8,oversubscription=4", "leaf-spine, leaves: 8, hosts: 8, oversubscription: 4", 64, 10, 4},
		{"fat-tree:k=4", "fat-tree, k: 4", 16, 20, 1},
		{"fat-tree: k = 6 , tiers=2,oversubscription=2", "fat-tree, k: 6, tiers: 2, oversubscription: 2", 36, 9, 2},
		{"rail", "rail", 16, 28, 1},
		{"rail:servers=8,oversubscription=2,local_switch=false", "rail, servers: 8, oversubscription: 2, local_switch: false", 32, 8, 2},
		{"rail:servers=8,oversubscription=2", "rail, servers: 8, oversubscription: 2", 32, 48, 2},
		{"rail:spines=none,local_rate=900Gbps", "rail, spines: none, local_rate: 900Gbps", 16, 24, 1},
	} {
		got, err := ParseTemplate(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got.Hosts != c.hosts || got.Nodes != c.hosts+c.switches || got.Rate != 100*unit.GigabitPerSec/unit.Rate(c.cut) || got.Delay != unit.Microsecond {
			t.Errorf("%s: %d hosts, %d nodes, %s, %s", c.text, got.Hosts, got.Nodes, got.Rate, got.Delay)
		}
		want := parsed(t, strings.Replace(byTemplate(c.section), "buffer: 1GB", "", 1))
		made := parsed(t, string(rackOf(got)))
		if len(made.Links) != got.Links || !reflect.DeepEqual(made.Links, want.Links) || !reflect.DeepEqual(made.Nodes, want.Nodes) {
			t.Errorf("%s differs from topology: {template: %s}", c.text, c.section)
		}
	}
}

// The rate is that of the slowest link, and the delay that of the longest.
func TestTemplateRateAndDelay(t *testing.T) {
	got, err := ParseTemplate("leaf-spine:rate=400Gbps,uplink_rate=50Gbps,spines=32,delay=2us,uplink_delay=7us")
	if err != nil || got.Rate != 50*unit.GigabitPerSec || got.Delay != 7*unit.Microsecond {
		t.Errorf("%+v, %v", got, err)
	}
}

// Switches whose headroom needs more than the default buffer have twice what they need.
func TestTemplateBuffers(t *testing.T) {
	const head = "switches: # the default buffer is too small for the headroom of these\n"
	for _, c := range []struct{ text, want string }{
		{"fat-tree", ""},
		{"fat-tree:k=32,rate=400Gbps", ""},
		{"star:hosts=300", head + "  s0: {buffer: 25MB}\n"},
		{"rail:servers=64,rate=800Gbps,delay=10us", head + "  gpu0..gpu255: {buffer: 19MB}\n  rail0..rail3: {buffer: 770MB}\n  spine0..spine63: {buffer: 25MB}\n"},
		{"leaf-spine:rate=10Tbps,delay=1ms", head + "  leaf0..leaf3: {buffer: 60001MB}\n  spine0..spine3: {buffer: 30001MB}\n"},
	} {
		got, err := ParseTemplate(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		parsed(t, string(rackOf(got)))
		if _, buffers, _ := strings.Cut(string(got.Append(nil)), "\n"); buffers != c.want {
			t.Errorf("%s:\n%swant %s", c.text, buffers, c.want)
		}
	}
}

func TestParseTemplateFaults(t *testing.T) {
	const fatTree = "rate, delay, mtu, k, tiers, hosts, oversubscription, parallel, uplink_rate, uplink_delay"
	for text, want := range map[string]string{
		"":                         `template "" is unknown, want one of star, leaf-spine, fat-tree, rail, dragonfly, and its numbers like fat-tree:k=8,rate=400Gbps`,
		"ring:k=8":                 `template "ring" is unknown, want one of star, leaf-spine, fat-tree, rail, dragonfly, and its numbers like fat-tree:k=8,rate=400Gbps`,
		"fat-tree:":                `template fat-tree: "": want KEY=VALUE, with a key of ` + fatTree,
		"fat-tree:8":               `template fat-tree: "8": want KEY=VALUE, with a key of ` + fatTree,
		"fat-tree:leaves=8":        `template fat-tree: leaves: unknown key, want one of ` + fatTree,
		"fat-tree:template=star":   `template fat-tree: template: unknown key, want one of ` + fatTree,
		"fat-tree:k=4,k=8":         `template fat-tree: k: given twice`,
		"fat-tree:k=":              `template fat-tree: k: invalid value "", want ports of each switch of a fat tree, an even number; by default 4, from 2 to 512`,
		"fat-tree:rate={a: b}":     `template fat-tree: rate: invalid value "{a: b}", want rate of the links of hosts; by default that of defaults.link, or 100Gbps`,
		"fat-tree:k=514":           `template fat-tree: k: "514" is not an integer from 2 to 512`,
		"fat-tree:k=5":             `template fat-tree: k: 5 is odd: half of the ports of a switch lead up, want an even number`,
		"fat-tree:k=128":           `template fat-tree: creates 544768 nodes, want at most 131072`,
		"rail:local_switch=maybe":  `template rail: local_switch: `,
		"leaf-spine:spines=none":   `template leaf-spine: spines: none leaves 4 leaves without a path to each other: want a number`,
		"star:hosts=0,mtu=1B,k=10": "template star: k: unknown key, want one of rate, delay, mtu, hosts\ntemplate star: hosts: \"0\" is not an integer from 1 to 131072\ntemplate star: mtu: 1B is out of range, want 128B to 65.536KB",
	} {
		if _, err := ParseTemplate(text); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "\n") != strings.Count(want, "\n") {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// Any text is refused, or makes the rack that it says.
func FuzzParseTemplate(f *testing.F) {
	for _, text := range []string{"star", "fat-tree:k=4,rate=400Gbps", "rail:servers=2,local_switch=false", "leaf-spine:oversubscription=0.5,spines=none", "star:hosts=,", "star:hosts=1e1", "star:mtu=0x80"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		made, err := ParseTemplate(text)
		if err != nil || made.Nodes > 2000 {
			return
		}
		if s, err := Parse("fuzz", rackOf(made)); err != nil || len(s.Nodes) != made.Nodes {
			t.Errorf("%q: %v", text, err)
		}
	})
}

package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const s1 = 6 // index of the sample's switch s1

func underRTTX(t *testing.T, set ...topology.Setting) *topology.Scenario {
	t.Helper()
	s, err := ParseWith("sample.yaml", []byte(sample), append([]topology.Setting{{Key: "scheme", Value: "timely-rttx"}}, set...))
	if err != nil {
		t.Fatal(err)
	}
	same(t, s)
	return s
}

// RTTX-49: D is 2 us at the 100 Gbit/s of the document's example, and can be set.
// RTTX-54: elsewhere, or where auto asks for it, it is minRTT / (2 b) of the path, so
// that the strongest increment weighs as much as ECN.
// RTTX-48: 0 asks for the formula.
func TestBaseIncrementDerivesFromThePath(t *testing.T) {
	const us = unit.Microsecond
	for _, c := range []struct {
		set  []topology.Setting
		want unit.Time
	}{
		{nil, 12500 * unit.Nanosecond}, // b 0.8, minRTT 20us
		{[]topology.Setting{{Key: "timely-rttx.min_rtt", Value: "500us"}}, 312500 * unit.Nanosecond},
		{[]topology.Setting{{Key: "timely-rttx.beta", Value: "0.5"}}, 20 * us},
		{[]topology.Setting{{Key: "timely-rttx.min_rtt", Value: "5s"}, {Key: "timely-rttx.beta", Value: "0.1"}}, unit.Second},
		{[]topology.Setting{{Key: "switch.rttx_d", Value: "4us"}}, 4 * us},
		{[]topology.Setting{{Key: "switch.rttx_d", Value: "0"}}, 0},
		{[]topology.Setting{{Key: "link.rate", Value: "100Gbps"}}, 2 * us},
		{[]topology.Setting{{Key: "link.rate", Value: "100Gbps"}, {Key: "s1--r0.rate", Value: "200Gbps"}}, 12500 * unit.Nanosecond},
		{[]topology.Setting{{Key: "link.rate", Value: "100Gbps"}, {Key: "h0--s0.rate", Value: "40Gbps"}}, 2 * us}, // the rate of another switch's port
		{[]topology.Setting{{Key: "link.rate", Value: "100Gbps"}, {Key: "s1.rttx_d", Value: "auto"}}, 12500 * unit.Nanosecond},
	} {
		s := underRTTX(t, c.set...)
		if got := s.Increment(s.Nodes[s1].Switch.RTTX.D, s.PortMap()[s1]); got != c.want {
			t.Errorf("%v: D %s, want %s", c.set, got, c.want)
		}
	}
}

// RTTX-50: a running switch receives a span, whatever the word was.
func TestBaseIncrementOfAChange(t *testing.T) {
	for value, want := range map[string]unit.Time{"auto": 12500 * unit.Nanosecond, "0": 0, "3us": 3 * unit.Microsecond} {
		s := underRTTX(t, topology.Setting{Key: "switch.rttx_d", Value: "1us"})
		changed, err := Extend(s, topology.Change{At: 10, Verb: topology.ChangeSet, Set: topology.Setting{Key: "s1.rttx_d", Value: value}})
		if err != nil {
			t.Fatal(err)
		}
		if list := tuned(changed, 0); len(list) != 1 || list[0].Value != int64(want) {
			t.Errorf("%s: got %+v, want %s", value, list, want)
		}
		for _, now := range NodeSettings(changed, s1, 11) {
			if now.Key == "rttx_d" && now.Value != want.String() {
				t.Errorf("%s: the settings show %s, want %s", value, now.Value, want)
			}
		}
	}
	// A value that was never set is shown as the value derived for it.
	if found := StateBefore(underRTTX(t), 1).LiveSettings()[s1]; !strings.Contains(joined(found), "rttx_d=12.5us") {
		t.Errorf("live settings: %s", joined(found))
	}
}

func joined(list []NodeSetting) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.Key + "=" + s.Value + " ")
	}
	return b.String()
}

// A D that no switch uses is refused in a file, on the command line and live.
func TestBaseIncrementWhereNothingConverts(t *testing.T) {
	const why = "no class of s0, s1 converts ECN into RTT under pcn, want scheme timely-rttx, or rewrite {3: rttx} there"
	one := strings.Replace(why, "s0, s1", "s1", 1)
	for _, c := range []struct {
		old, with string
		set       []topology.Setting
		want      string
	}{
		{"buffer: 12MB", "rttx_d: 4us", nil, "12: switches.s0..s1.rttx_d: " + why},
		{"buffer: 12MB", "rttx_d: auto", nil, "12: switches.s0..s1.rttx_d: " + why},
		{"defaults:", "defaults:\n  switch: {rttx_d: 4us}", nil, "7: defaults.switch.rttx_d: " + why},
		{"", "", []topology.Setting{{Key: "s1.rttx_d", Value: "4us"}}, "s1.rttx_d: " + one},
		{"{buffer: 12MB}", "{buffer: 12MB}\n  s1: {rewrite: {3: none}, rttx_d: 4us}", []topology.Setting{{Key: "scheme", Value: "timely-rttx"}}, "13: switches.s1.rttx_d: no class of s1"},
		{"bursts:", "changes:\n  - {at: 10us, set: s1.rttx_d=4us}\nbursts:", nil, "changes[0].set: " + one},
		// These convert at some switch, or under one of the schemes.
		{"buffer: 12MB", "rttx_d: 4us", []topology.Setting{{Key: "scheme", Value: "timely-rttx"}}, ""},
		{"scheme: pcn", "scheme: pcn\ncompare: [pcn, timely-rttx]", []topology.Setting{{Key: "switch.rttx_d", Value: "4us"}}, ""},
		{"buffer: 12MB", "rewrite: {3: rttx}, rttx_d: 4us", nil, ""},
		{"bursts:", "changes:\n  - {at: 10us, set: s0..s1.rttx_d=4us}\nbursts:", []topology.Setting{{Key: "scheme", Value: "timely-rttx"}}, ""},
		{"{buffer: 12MB}", "{buffer: 12MB}\n  s1: {rewrite: {3: none}}", []topology.Setting{{Key: "scheme", Value: "timely-rttx"}, {Key: "switch.rttx_d", Value: "4us"}}, ""},
	} {
		text := sample
		if c.old != "" {
			text = edited(t, c.old, c.with)
		}
		s, err := ParseWith("sample.yaml", []byte(text), c.set)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s, %v: %v", c.with, c.set, err)
		case c.want == "":
			same(t, s)
			same(t, Under(s, "pfc")) // the scenario under another scheme is valid, too
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s, %v: error %v, want %q", c.with, c.set, err, c.want)
		}
	}
	// A live run has one scheme, whatever its file compares.
	for scheme, refused := range map[string]bool{"pcn": true, "timely-rttx": false} {
		s := Under(parsed(t, edited(t, "scheme: pcn", "scheme: pcn\ncompare: [pcn, timely-rttx]")), scheme)
		s.Live = true
		_, err := Extend(s, topology.Change{At: 10, Verb: topology.ChangeSet, Set: topology.Setting{Key: "s0..s1.rttx_d", Value: "4us"}})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "change.set: "+why) {
			t.Errorf("live under %s: %v", scheme, err)
		}
	}
}

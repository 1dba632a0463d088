package topology

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

const s1 = 6 // index of the sample's switch s1

func underRTTX(t *testing.T, set ...Setting) *Scenario {
	t.Helper()
	s, err := ParseWith("sample.yaml", []byte(sample), append([]Setting{{"scheme", "timely-rttx"}}, set...))
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
func TestBaseIncrementFollowsFromThePath(t *testing.T) {
	const us = unit.Microsecond
	for _, c := range []struct {
		set  []Setting
		want unit.Time
	}{
		{nil, 12500 * unit.Nanosecond}, // b 0.8, minRTT 20us
		{[]Setting{{"timely-rttx.min_rtt", "500us"}}, 312500 * unit.Nanosecond},
		{[]Setting{{"timely-rttx.beta", "0.5"}}, 20 * us},
		{[]Setting{{"timely-rttx.min_rtt", "5s"}, {"timely-rttx.beta", "0.1"}}, unit.Second},
		{[]Setting{{"switch.rttx_d", "4us"}}, 4 * us},
		{[]Setting{{"switch.rttx_d", "0"}}, 0},
		{[]Setting{{"link.rate", "100Gbps"}}, 2 * us},
		{[]Setting{{"link.rate", "100Gbps"}, {"s1--r0.rate", "200Gbps"}}, 12500 * unit.Nanosecond},
		{[]Setting{{"link.rate", "100Gbps"}, {"h0--s0.rate", "40Gbps"}}, 2 * us}, // the rate of another switch's port
		{[]Setting{{"link.rate", "100Gbps"}, {"s1.rttx_d", "auto"}}, 12500 * unit.Nanosecond},
	} {
		if got := underRTTX(t, c.set...).Increment(s1); got != c.want {
			t.Errorf("%v: D %s, want %s", c.set, got, c.want)
		}
	}
}

// RTTX-50: a running switch receives a span, whatever the word was.
func TestBaseIncrementOfAChange(t *testing.T) {
	for value, want := range map[string]unit.Time{"auto": 12500 * unit.Nanosecond, "0": 0, "3us": 3 * unit.Microsecond} {
		s := underRTTX(t, Setting{"switch.rttx_d", "1us"})
		changed, err := s.Extend(Change{At: 10, Verb: ChangeSet, Set: Setting{"s1.rttx_d", value}})
		if err != nil {
			t.Fatal(err)
		}
		if list := tuned(changed, 0); len(list) != 1 || list[0].Value != int64(want) {
			t.Errorf("%s: told %+v, want %s", value, list, want)
		}
		for _, now := range changed.NodeSettings(s1, 11) {
			if now.Key == "rttx_d" && now.Value != want.String() {
				t.Errorf("%s: the settings show %s, want %s", value, now.Value, want)
			}
		}
	}
	// A value that was never set is shown as the value derived for it.
	if found := underRTTX(t).StateBefore(1).LiveSettings()[s1]; !strings.Contains(joined(found), "rttx_d=12.5us") {
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
		set       []Setting
		want      string
	}{
		{"buffer: 12MB", "rttx_d: 4us", nil, "12: switches.s0..s1.rttx_d: " + why},
		{"buffer: 12MB", "rttx_d: auto", nil, "12: switches.s0..s1.rttx_d: " + why},
		{"defaults:", "defaults:\n  switch: {rttx_d: 4us}", nil, "7: defaults.switch.rttx_d: " + why},
		{"", "", []Setting{{"s1.rttx_d", "4us"}}, "s1.rttx_d: " + one},
		{"{buffer: 12MB}", "{buffer: 12MB}\n  s1: {rewrite: {3: none}, rttx_d: 4us}", []Setting{{"scheme", "timely-rttx"}}, "13: switches.s1.rttx_d: no class of s1"},
		{"bursts:", "changes:\n  - {at: 10us, set: s1.rttx_d=4us}\nbursts:", nil, "changes[0].set: " + one},
		// These convert at some switch, or under one of the schemes.
		{"buffer: 12MB", "rttx_d: 4us", []Setting{{"scheme", "timely-rttx"}}, ""},
		{"scheme: pcn", "scheme: pcn\ncompare: [pcn, timely-rttx]", []Setting{{"switch.rttx_d", "4us"}}, ""},
		{"buffer: 12MB", "rewrite: {3: rttx}, rttx_d: 4us", nil, ""},
		{"bursts:", "changes:\n  - {at: 10us, set: s0..s1.rttx_d=4us}\nbursts:", []Setting{{"scheme", "timely-rttx"}}, ""},
		{"{buffer: 12MB}", "{buffer: 12MB}\n  s1: {rewrite: {3: none}}", []Setting{{"scheme", "timely-rttx"}, {"switch.rttx_d", "4us"}}, ""},
	} {
		text := sample
		if c.old != "" {
			text = spoilt(t, c.old, c.with)
		}
		s, err := ParseWith("sample.yaml", []byte(text), c.set)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s, %v: %v", c.with, c.set, err)
		case c.want == "":
			same(t, s)
			same(t, s.Under("pfc")) // the scenario under another scheme is valid, too
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s, %v: error %v, want %q", c.with, c.set, err, c.want)
		}
	}
	// A live run has one scheme, whatever its file compares.
	for scheme, refused := range map[string]bool{"pcn": true, "timely-rttx": false} {
		s := parsed(t, spoilt(t, "scheme: pcn", "scheme: pcn\ncompare: [pcn, timely-rttx]")).Under(scheme)
		s.Live = true
		_, err := s.Extend(Change{At: 10, Verb: ChangeSet, Set: Setting{"s0..s1.rttx_d", "4us"}})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "change.set: "+why) {
			t.Errorf("live under %s: %v", scheme, err)
		}
	}
}

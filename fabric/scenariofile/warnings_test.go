package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
)

// warned returns the warnings of the sample with settings, "KEY=VALUE", one per line.
func warned(t *testing.T, settings ...string) string {
	t.Helper()
	var set []topology.Setting
	for _, one := range settings {
		key, value, _ := strings.Cut(one, "=")
		set = append(set, topology.Setting{Key: key, Value: value})
	}
	s, err := ParseWith("sample.yaml", []byte(sample), set)
	if err != nil {
		t.Fatal(err)
	}
	return (&Faults{File: "f", List: Warnings(s)}).Error()
}

// Valid settings that are likely to be mistakes are reported, once for all nodes that
// share a value.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"", ""},
		{"s0--s1.delay=10us", ""},
		{"nic.timeout=1us", "f: h0.timeout: 1us is less than the base RTT of 30.5568us to r0, so packets are retransmitted before their ACK can arrive: want more than 30.5568us, or 0 for no timer"},
		{"h2.timeout=30.5567us", "f: h2.timeout: 30.5567us is less than the base RTT of 30.5568us"},
		{"h2.timeout=30.5568us", ""},
		{"r0.timeout=1us", ""}, // r0 sends no data
		{"nic.timeout=0", ""},
		{"switch.headroom=30KB", "f: s0.headroom: 30000B is too small for the frames that arrive after PAUSE at 100Gbps and 5us, so a lossless class drops frames: want at least 129619B"},
		{"s1.headroom=129618B", "f: s1.headroom: 129618B is too small"},
		{"s1.headroom=129619B", ""},
		{"switch.lossless=[]", "f: s0.marking: class 3 is lossy and has no marking law, so pcn gets no marks from it: want {3: npecn}, or none if intended"},
		{"F0.class=1", "f: s0.marking: class 1 is lossy and has no marking law"},
		{"switch.dscp={26: 4}", "f: s0.dscp: DSCP 26 is in class 4 here but in class 3 at the NICs, which a PAUSE of class 4 does not pause"},
		{"s1.dscp={10: 4}", ""}, // no NIC sends with DSCP 10
		{"s1.class3.headroom=1KB", "f: s1.class3.headroom: 1000B is too small"},
		{"timely.preset=authors", ""}, // not the scheme in use
		{"nic.entropy=mixed", "f: h0.entropy: mixed spreads the packets of a flow over paths, but go-back-N takes each packet out of order for a loss: want recovery selective at both ends, or entropy flow"},
		{"nic.entropy=mixed nic.recovery=selective", ""},
		{"nic.entropy=mixed nic.recovery=selective r0.recovery=gobackn", "f: h0.entropy: mixed spreads"},
		{"nic.entropy=mixed nic.recovery=selective r0.recovery=spraying", "f: h0.entropy: mixed spreads"}, // the ends disagree
		{"nic.entropy=flow", ""},
		{"scheme=mrc", ""},
		{"scheme=mrc switch.trim=off", ""},
		{"scheme=mrc switch.trim=off nscc.trimming=on", "f: nscc.trimming: is on, but no switch trims a class with data, so target delay and timeout are too short: want switches or off"},
		{"scheme=mrc switch.trim=off s0.class3.trim=on nscc.trimming=on", ""},
		{"scheme=mrc switch.trim=off nscc.trimming=off", ""},
		{"scheme=mrc nscc.trimming=off", ""},
		{"scheme=mrc switch.pfc=on nscc.trimming=on", "f: nscc.trimming: is on"},
		{"nscc.trimming=on", ""}, // not the scheme in use
		{"r0.entropy=mixed", ""}, // r0 sends no data
		{"nic.entropy=reps nic.recovery=selective scheme=timely-rttx", "f: h0.entropy: under timely-rttx a switch knows a flow by its UDP source port, and does not count packets with another: want entropy flow"},
	} {
		var got string
		if c.set == "" {
			got = warned(t)
		} else {
			got = warned(t, settingsIn(c.set)...)
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", c.set, got, c.want)
		}
	}
}

// settingsIn returns the settings of a text, which begin at words with "=".
func settingsIn(text string) (list []string) {
	for _, word := range strings.Fields(text) {
		if strings.Contains(word, "=") {
			list = append(list, word)
		} else {
			list[len(list)-1] += " " + word
		}
	}
	return list
}

// From 100 Mbit/s to 100 Gbit/s takes ln 1000 times 64 KB over 50 Mbit/s: 70.7 ms.
// The warning applies if the scheme uses the step, the run is shorter, and no setting
// makes the step grow with the link.
func TestWarningOfTIMELYsStep(t *testing.T) {
	want := "f: timely.delta: a step of 10Mbps is for links of 10Gbps: recovery from min_rate 100Mbps to the 100Gbps of a link takes at least 70ms, but the run lasts 10ms"
	fast := []string{"scheme=timely", "link.rate=100Gbps", "duration=10ms"}
	if got := warned(t, fast...); !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
	for _, change := range []string{
		"duration=71ms", "timely.preset=scaled", "timely.preset=rack", "timely.delta_per=10Gbps", "timely.delta=100Mbps", "timely.segment=8KB",
		"scheme=timely-rttx", "scheme=dcqcn",
	} {
		if got := warned(t, append(fast, change)...); got != "" {
			t.Errorf("%s: %s", change, got)
		}
	}
	if got := warned(t, append(fast, "scheme=timely-rttx", "timely-rttx.preset=authors")...); !strings.HasPrefix(got, "f: timely-rttx.delta: ") {
		t.Errorf("got %q", got)
	}
}

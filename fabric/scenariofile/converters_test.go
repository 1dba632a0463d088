package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The path h1-s0-s1-r0 of the sample: 5 us per link, 40 Gbit/s at the ends and 100
// between the switches; 1086 B there, 74 B back.
func TestBaseRTTs(t *testing.T) {
	s := parsed(t, sample)
	want := 6*5*unit.Microsecond + 2*217200*unit.Picosecond + 86880*unit.Picosecond + 2*14800*unit.Picosecond + 5920*unit.Picosecond
	for i, f := range s.Flows {
		if got := routes.BaseRTTs(s)[i]; got != want {
			t.Errorf("%s: %s, want %s", f.Name, got, want)
		}
	}
}

// NSCC-2: a reaction point learns the line rate, that of the receiver, MTU, nominal headers (UDP length + 40), base RTT and number of links of its path.
func TestPathsBetweenHosts(t *testing.T) {
	s := parsed(t, sample)
	paths := routes.NewPaths(s, s.PortMap())
	for i, f := range s.Flows {
		from, to := s.Nodes[f.From], s.Nodes[f.To]
		rate := func(node int) unit.Rate { return s.Links[s.PortMap()[node][0].Link].Rate }
		want := cc.Path{Rate: rate(f.From), Receiver: rate(f.To), MTU: from.NIC.Payload, Headers: 64, BaseRTT: routes.BaseRTTs(s)[i], LongestRTT: paths.LongestRTT(), Hops: 3}
		if got := paths.Between(from.Host, to.Host); got != want {
			t.Errorf("%s: %+v, want %+v", f.Name, got, want)
		}
	}
}

// NSCC-24: the longest RTT is that between any two hosts, wherever the first one is.
func TestLongestRTT(t *testing.T) {
	scenarios := map[string]*topology.Scenario{"near-and-far": parsed(t, nearAndFar)}
	for _, name := range []string{"pcn-16to2", "dumbbell-4-3", "incast-3", "permutation-20", "star-1"} {
		scenarios[name] = builtin(t, name)
	}
	for name, s := range scenarios {
		paths, want := routes.NewPaths(s, s.PortMap()), unit.Time(0)
		for from := range s.NodesOf(topology.NIC) {
			want = max(want, paths.FurthestRTT(from))
		}
		if got := paths.LongestRTT(); got != want || got == 0 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	s := scenarios["near-and-far"]
	paths := routes.NewPaths(s, s.PortMap())
	if first, longest := paths.FurthestRTT(0), paths.RTT(2, 3); first >= longest || paths.LongestRTT() != longest {
		t.Errorf("%s from the first host, %s between far ones: longest %s", first, longest, paths.LongestRTT())
	}
}

// nearAndFar has two hosts on links of 1 us, and two on links of 9 us.
const nearAndFar = `name: near-and-far
duration: 1ms
nics: {a0: , a1: , b0: , b1: }
switches: {s0: }
links:
  - {endpoints: ["a0, a1", s0], rate: 40Gbps, delay: 1us}
  - {endpoints: ["b0, b1", s0], rate: 40Gbps, delay: 9us}
flows:
  - {name: F, from: a0, to: a1, size: 1MB}
`

// RTTX-47: the age, left open, is two base RTTs.
func TestConverterAgeDerivesFromFlows(t *testing.T) {
	s := parsed(t, sample)
	if got, want := s.Nodes[5].Switch.RTTX.Age, 2*routes.BaseRTTs(s)[0]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s = parsed(t, edited(t, "buffer: 12MB", "rttx_age: 1ms"))
	if got := s.Nodes[5].Switch.RTTX.Age; got != unit.Millisecond {
		t.Errorf("%s, want the 1ms of the file", got)
	}
}

const putOnly = `name: puts
duration: 1ms
nics: {a0: {rtt: receiver}, r0: {rtt: receiver}}
switches: {s0: }
links: [{endpoints: ["a0, r0", s0], rate: 40Gbps, delay: 1us}]
commands:
  - {name: write, verb: put, from: a0, to: r0, size: 1MB}
`

// RTTX-47: commands count as flows do. Without both, the longest base RTT of
// the first host counts, so that commands of changes have an age too.
func TestConverterAgeDerivesFromCommands(t *testing.T) {
	posted := strings.Replace(strings.Replace(putOnly, "commands:", "changes:", 1), "{name: write, verb: put, from: a0, to: r0, size: 1MB}",
		"{at: 1us, post: {name: write, verb: put, from: a0, to: r0, size: 1MB}}", 1)
	for _, text := range []string{putOnly, posted} {
		s := parsed(t, text)
		if got, want := s.Nodes[2].Switch.RTTX.Age, 2*routes.NewPaths(s, s.PortMap()).RTT(0, 1); got != want || got < unit.Microsecond {
			t.Errorf("%s, want %s", got, want)
		}
		same(t, s)
	}
}

// RTTX-35: the senders of puts and of acknowledged sends need the timestamp that they read; the
// others take no sample.
func TestRewrittenTimestampSuitsCommands(t *testing.T) {
	echo := strings.Replace(putOnly, "a0: {rtt: receiver}", "a0: {rtt: echo}", 1)
	if got := parsed(t, echo).Nodes[2].Switch.RTTX.Stamp; got != rttx.StampSent {
		t.Errorf("%s, want ts", got)
	}
	tr := strings.NewReplacer("s0: ", "s0: {rttx_stamp: tr}", "1MB", "1000B").Replace(echo)
	for verb, acknowledged := range map[string]bool{"put": true, "send": true, "send, transport: ud": false, "get": false} {
		_, err := Parse("puts.yaml", []byte(strings.Replace(tr, "verb: put", "verb: "+verb, 1)))
		if refused := err != nil && strings.Contains(err.Error(), "tr does not affect a0, whose rtt is echo"); refused != acknowledged || err != nil != refused {
			t.Errorf("%s: got %v", verb, err)
		}
	}
}

// RTTX-33, RTTX-35: the timestamp, left open, is T_r where every sender reads it,
// else T_s; what is written down is checked against the senders.
func TestRewrittenTimestampDependsOnSenders(t *testing.T) {
	const all = "h0..h3: {payload: 1000B, rtt: receiver}"
	for _, c := range []struct {
		nics string
		want rttx.Stamp
	}{
		{"h0..h3: {payload: 1000B}", rttx.StampSent},
		{all, rttx.StampReceived},
		{all + "\n  h2: {rtt: echo}", rttx.StampSent},
	} {
		s := parsed(t, edited(t, "h0..h3: {payload: 1000B}", c.nics))
		if got := s.Nodes[6].Switch.RTTX.Stamp; got != c.want {
			t.Errorf("%s: %s, want %s", c.nics, got, c.want)
		}
		same(t, s)
	}
	// T_s suits both kinds of senders.
	parsed(t, edited(t, "buffer: 12MB", "rttx_stamp: ts"))
}

// Conversion can be configured for each switch and each class.
func TestRewritingIsSetPerSwitchAndClass(t *testing.T) {
	s := parsed(t, edited(t, "{buffer: 12MB}", "{buffer: 12MB}\n  s1: {rewrite: {3: rttx, 0: none}, rttx_d: 4us}"))
	s0, s1 := s.Nodes[5].Switch, s.Nodes[6].Switch
	if s0.Rewrite[3] != "" || s1.Rewrite[3] != cc.RewriteRTTX || s1.Rewrite[0] != cc.RewriteNone {
		t.Errorf("s0 %v, s1 %v", s0.Rewrite, s1.Rewrite)
	}
	if s1.RTTX.D != 4*unit.Microsecond {
		t.Errorf("D is %s", s1.RTTX.D)
	}
	same(t, s)
}

// Every setting can be written, survives the manifest, and reaches the converter.
func TestSettingsOfAConverter(t *testing.T) {
	const all = "rttx_key: five-tuple, rttx_key_bits: 16, rttx_match: mirror, rttx_table: 7, rttx_age: 1ms, rttx_judge: delay, rttx_queue: 1KB, " +
		"rttx_delay: 3us, rttx_occupancy: 9KB, rttx_window: 16, rttx_way: probabilistic, rttx_levels: 9, rttx_bound: min, rttx_d: 0, rttx_stamp: ts, rttx_clear: ect0"
	text := edited(t, "buffer: 12MB", all)
	s, err := ParseWith("sample.yaml", []byte(text), []topology.Setting{{Key: "nic.ack_ports", Value: "mirrored"}, {Key: "scheme", Value: "timely-rttx"}})
	if err != nil {
		t.Fatal(err)
	}
	want := rttx.Params{
		Key: rttx.KeyFiveTuple, KeyBits: 16, Match: rttx.MatchMirror, Table: 7, Age: unit.Millisecond,
		Judge: rttx.JudgeDelay, Queue: unit.Kilobyte, Delay: 3 * unit.Microsecond, Occupancy: 9 * unit.Kilobyte,
		Window: 16, Way: rttx.WayProbabilistic, Levels: 9, Bound: rttx.BoundMin, Stamp: rttx.StampSent, Clear: rttx.ClearECT0,
	}
	if got := s.Nodes[5].Switch.RTTX; got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if err := want.Validate(); err != nil {
		t.Error(err)
	}
	same(t, s)
}

// The list of settings is that of the parser, and each setting cites the source of
// its default.
func TestSwitchParams(t *testing.T) {
	params := SwitchParams("timely-rttx")
	if len(params) != len(rttxFields) {
		t.Errorf("%d settings, want %d", len(params), len(rttxFields))
	}
	for _, p := range params {
		if p.Doc == "" || p.Source == "" || p.Range == "" {
			t.Errorf("%+v leaves something open", p)
		}
		if p.Default == "" && p.Key != "rttx_stamp" && p.Key != "rttx_d" {
			t.Errorf("%s has no default", p.Key)
		}
		if p.Default != "" {
			parsed(t, edited(t, "buffer: 12MB", p.Key+": "+p.Default))
		}
	}
	if p := SwitchParams("pcn"); len(p) != 0 {
		t.Errorf("pcn: %v", p)
	}
}

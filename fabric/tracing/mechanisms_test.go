package tracing_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// builtin returns a built-in scenario with settings.
func builtin(t *testing.T, name string, set ...topology.Setting) string {
	t.Helper()
	text, ok := scenariofile.Builtin(name)
	if !ok {
		t.Fatal(name)
	}
	s, err := scenariofile.ParseWith(name, text, set)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := scenariofile.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(whole)
}

// happened returns the first event of a kind in the spans of a part.
func happened(spans map[uint64][]tracing.Span, part tracing.Part, kind fabric.Kind) (found tracing.Span, event tracing.Event) {
	for _, list := range spans {
		for _, s := range list {
			for _, e := range s.Events {
				if s.Part == part && e.Kind == kind && (event.Times == 0 || e.At < event.At) {
					found, event = s, e
				}
			}
		}
	}
	return found, event
}

// The worked example of RTTX-57 appears in the trace of its flow: five counts, level 3,
// and an ACK whose timestamp is advanced by 1 us.
func TestConversionIsInTheTrace(t *testing.T) {
	spans := traced(t, builtin(t, "rttx-example"))
	if s, e := happened(spans, tracing.Switch, fabric.EventCounted); s.Node != "s0" || s.Back || e.Times < 5 {
		t.Errorf("counted: %+v in %+v", e, s)
	}
	if s, e := happened(spans, tracing.Switch, fabric.LevelChanged); s.Node != "s0" || e.Level() != 3 || e.OldLevel() != 0 {
		t.Errorf("level: %+v in %+v", e, s)
	}
	s, e := happened(spans, tracing.Switch, fabric.Rewritten)
	if s.Node != "s0" || !s.Back || e.Duration() != unit.Microsecond || e.Level() != 3 {
		t.Errorf("rewritten: %+v in %+v", e, s)
	}
	if s.Marks != 0 {
		t.Errorf("a rewriting counts as %d marks", s.Marks)
	}
}

// A receiver signals the degree in its ACKs, and the sender's message has an event with
// their contents.
func TestCongestionInformationIsInTheTrace(t *testing.T) {
	spans := traced(t, builtin(t, "ceth-reaction", topology.Setting{Key: "scheme", Value: "ceth"}))
	if s, e := happened(spans, tracing.Target, fabric.Indicated); s.Node != "r0" || !e.Congested() || cc.Degree(e.Degree()) == cc.DegreeNone {
		t.Errorf("indicated: %+v in %+v", e, s)
	}
	if s, e := happened(spans, tracing.Root, fabric.IndicationIn); s.Node[0] != 'a' || !e.Congested() {
		t.Errorf("indication: %+v in %+v", e, s)
	}
	s, e := happened(spans, tracing.Root, fabric.CongestionIn)
	if path := cc.FromWords(e.Encoded()); s.Node[0] != 'a' || path.Known&cc.ItemDegree == 0 || path.Degree == cc.DegreeNone {
		t.Errorf("path: %+v in %+v", path, s)
	}
}

// The receiver grants credit; a sender that cannot spend it signals excess.
func TestCreditIsInTheTrace(t *testing.T) {
	spans := traced(t, builtin(t, "cbrc-waste", topology.Setting{Key: "scheme", Value: "cbrc-aimd"}, topology.Setting{Key: "duration", Value: "400us"}))
	if s, e := happened(spans, tracing.Notify, fabric.CreditGranted); s.Role != frame.RoleCredit || e.Quanta() <= 0 || e.Coefficient() != 1 {
		t.Errorf("granted: %+v in %+v", e, s)
	}
	if s, e := happened(spans, tracing.Root, fabric.ExcessSignalled); s.Node != "s" || e.Credit() <= 0 {
		t.Errorf("excess: %+v in %+v", e, s)
	}
}

// paced is a host that may request 1 Gbit/s, and requests long and short responses.
const paced = `
name: paced
seed: 1
duration: 400us
scheme: pfc
nics: {h0: {pacing: bucket, pacing_rate: 1Gbps, pacing_burst: 5KB}, r0..r1: }
switches: {s0: }
links: [{endpoints: ["h0, r0..r1", s0], rate: 40Gbps, delay: 1us}]
commands:
  - {name: long, verb: get, from: h0, to: r0, size: 4KB, count: 6}
  - {name: short, verb: get, from: h0, to: r1, size: 100B, count: 40}
`

// A GET that waits for IN tokens has an event, and so has a GET that is passed over for
// a shorter one: one event each, with the number of repetitions, the length of the
// response and the tokens.
func TestReasonOfAPassedOverGET(t *testing.T) {
	spans := traced(t, paced)
	for _, kind := range []fabric.Kind{fabric.PassedOver, fabric.TokensAwaited} {
		s, e := happened(spans, tracing.Root, kind)
		if s.Name != "GET" || s.Node != "h0" || e.Response() <= e.Room() || e.Bound() != fabric.BoundHead || e.Last < e.At {
			t.Errorf("%s: %+v in %+v", kind, e, s)
		}
		if kind == fabric.PassedOver && (s.Flow != "long" || e.Times < 2) {
			t.Errorf("%+v in %+v", e, s)
		}
	}
}

// The state of a path survives encoding into the two words of a note.
func TestCongestionWords(t *testing.T) {
	for _, path := range []cc.Congestion{
		{},
		{Known: cc.ItemDegree, Degree: cc.DegreeHeavy},
		{Known: 15, Degree: cc.DegreeLight, Location: 0xabcd, Depth: 12 * unit.Megabyte, Delay: 3 * unit.Millisecond},
	} {
		if got := cc.FromWords(path.Words()); got != path {
			t.Errorf("%+v became %+v", path, got)
		}
	}
}

// A repeated event is counted in its first occurrence; a different event is recorded
// separately.
func TestRepeatedEventsAreCounted(t *testing.T) {
	spans := traced(t, builtin(t, "rttx-example"))
	times := int64(0)
	for _, list := range spans {
		for _, s := range list {
			for i, e := range s.Events {
				if e.Kind != fabric.Rewritten {
					continue
				}
				times += e.Times
				if i > 0 && s.Events[i-1].Event == e.Event {
					t.Errorf("%+v after %+v", e, s.Events[i-1])
				}
			}
		}
	}
	if times < 10 {
		t.Errorf("%d rewritings", times)
	}
}

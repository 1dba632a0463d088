package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// standingQueue has two flows that fill a link of 40 Gbit/s behind a standing queue of
// about 36 KB. A CNM changes their rates by next to nothing.
const standingQueue = `
name: standing
duration: 400us
scheme: qcn
nics: {a0..a2: {}, r0: {}}
switches: {s0: {qcn_jitter: 0, xoff: 400KB}}
links: [{endpoints: ["a0..a2, r0", s0], rate: 40Gbps, delay: 1us}]
schemes: {qcn: {gd: 0.000001}}
flows:
  - {name: F0, from: a0, to: r0, size: endless, initial_rate: 20Gbps}
  - {name: F1, from: a1, to: r0, size: endless, initial_rate: 20Gbps}
  - {name: B, from: a2, to: r0, size: 36KB, start: 20us}
`

// PCN-11: QCN updates once per 100 packets. The paper's are 20 us at 40 Gbit/s, which
// qcn_sample_base: 100KB gives; by default they are the 150 KB of 802.1Qau, 30 us.
func TestQCNPeriods(t *testing.T) {
	for base, period := range map[string]unit.Time{"100KB": 20 * unit.Microsecond, "150KB": 30 * unit.Microsecond} {
		s, err := scenariofile.ParseWith("standing", []byte(standingQueue), []topology.Setting{{Key: "switch.qcn_sample_base", Value: base}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		var cnms []unit.Time
		l.Listen = func(_ int, notes []fabric.Note) {
			for _, n := range notes {
				if n.Kind == fabric.CNMSent && n.At > 60*unit.Microsecond { // B is over
					cnms = append(cnms, n.At)
				}
			}
		}
		l.Run(s.Duration)
		if len(cnms) < 10 {
			t.Fatalf("%s: %d CNMs", base, len(cnms))
		}
		const frames = 400 * unit.Nanosecond // samples are whole frames
		for i, at := range cnms[1:] {
			if apart := at - cnms[i]; apart < period-frames || apart > period+frames {
				t.Errorf("%s: CNMs %s apart at %s, want %s", base, apart, at, period)
			}
		}
	}
}

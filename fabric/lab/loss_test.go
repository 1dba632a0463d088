package lab_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// lossy returns a flow of 20 Gbit/s over two links of 40 Gbit/s and 10us, the first of
// which loses frames of one direction.
func lossy(t *testing.T, rate string) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.ParseWith("lossy.yaml", []byte(`
name: lossy
duration: 150ms
bin: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 10us}, nic: {timeout: 500us}}
nics: {h0: , r0: }
switches: {s0: }
links: [{endpoints: [h0, s0]}, {endpoints: [s0, r0], rate: 20Gbps}]
flows: [{name: F, from: h0, to: r0, size: endless, initial_rate: 10Gbps}]
`), []topology.Setting{{Key: "h0->s0.loss", Value: rate}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Go-back-N sends again all that was sent from a lost packet on until its NAK came: a
// round-trip time's worth, N packets. Of a rate R it delivers R (1-p) / (1 - p + p N),
// which a flow on a link with loss p has to the percent.
func TestGoodputOfGoBackNUnderLoss(t *testing.T) {
	for _, p := range []float64{1e-4, 1e-3, 5e-3} {
		run, err := lab.Measure(lossy(t, fmt.Sprint(p)))
		if err != nil {
			t.Fatal(err)
		}
		// 1062 B of frame carry 1000 B of payload. The packet behind the lost one makes
		// the NAK; from the lost one's start on that is one gap, four propagations, and
		// the serialisation of a frame and of a NAK twice each.
		gap := unit.Rate(10e9).Serialise(1062)
		turn := gap + 40*unit.Microsecond + unit.Rate(40e9).Serialise(1062+66) + unit.Rate(20e9).Serialise(1062+66)
		n := float64(turn) / float64(gap)
		want := 10e9 * 1000 / 1062 * (1 - p) / (1 - p + p*n)
		got := float64(run.Flows[0].Goodput)
		t.Logf("loss %g: %.3f Gbit/s, closed form %.3f, N %.1f, %d lost, %d sent again", p, got/1e9, want/1e9, n, run.LinkLost, run.Retransmits)
		if math.Abs(got/want-1) > 0.02 {
			t.Errorf("loss %g: %.3f Gbit/s, want %.3f", p, got/1e9, want/1e9)
		}
	}
}

// The results of a run list each direction that lost or damaged frames, with the counts
// of the machines at its end, and keep these frames apart from drops.
func TestResultsCountFramesLostOnLinks(t *testing.T) {
	s := lossy(t, "0.01")
	s.Links[1].Corrupt = topology.Ways{topology.Back: 0.02}
	s.Duration = 2 * unit.Millisecond
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(s.Duration)
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	ports := l.Machine(2).(*switching.Switch).Stats().Ports
	want := []measure.LinkErrors{
		{Link: "h0->s0", Lost: int64(ports[0].LostFrames)}, {Link: "r0->s0", Damaged: int64(ports[1].DamagedFrames)},
	}
	if ports[0].LostFrames == 0 || ports[1].DamagedFrames == 0 {
		t.Fatalf("the links lost no frames: %+v", want)
	}
	if diff := cmp.Diff(want, run.Errors); diff != "" || run.LinkLost != want[0].Lost || run.LinkDamaged != want[1].Damaged || run.Drops != 0 {
		t.Errorf("%d lost, %d damaged, %d dropped:\n%s", run.LinkLost, run.LinkDamaged, run.Drops, diff)
	}
}

// GET-24, GET-25, GET-26: on links that lose and damage a fifth of all frames every
// command is done. What has no answer within the time-out is asked for again; a read is
// done again, and an atomic is not: each of the additions finds another value, and the
// last of them the sum of all others.
func TestCommandsExecuteOnceOnLossyLinks(t *testing.T) {
	s, err := scenariofile.Parse("commands.yaml", []byte(`
name: commands
duration: 30ms
bin: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us, loss: 0.05, corrupt: 0.05}, nic: {timeout: 40us, retries: 100}}
nics: {h0: , r0: }
switches: {s0: }
links: [{endpoints: ["h0, r0", s0]}]
commands:
  - {name: add, verb: fetch-add, from: h0, to: r0, size: 8B, operand: 1, count: 50}
  - {name: get, verb: get, from: h0, to: r0, size: 10KB, count: 20}
  - {name: put, verb: put, from: h0, to: r0, size: 10KB, count: 20}
`))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]int{}
	executed := 0
	l.Look(0, &node.Tap{Frame: func(_ unit.Time, _ fabric.Port, way node.Way, f *frame.Frame) {
		if way == node.In && f.Class() == frame.ClassRoCE && f.Opcode() == frame.AtomicAcknowledge {
			found[f.Original()]++
		}
	}})
	l.Look(1, &node.Tap{Frame: func(_ unit.Time, _ fabric.Port, way node.Way, f *frame.Frame) {
		if way == node.In && f.Class() == frame.ClassRoCE && f.Opcode() == frame.FetchAdd {
			executed++
		}
	}})
	l.Run(s.Duration)
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Commands {
		if c.Completed != c.Commands {
			t.Errorf("%s: %d of %d done", c.Name, c.Completed, c.Commands)
		}
	}
	for original := range found {
		if original >= 50 {
			t.Errorf("an addition found %d: one of the others was executed twice", original)
		}
	}
	if len(found) != 50 || executed <= 50 {
		t.Errorf("%d values were found; %d additions arrived, want some of the 50 to arrive twice", len(found), executed)
	}
	if n := l.Machine(0).(*nic.NIC).Stats().Engine.Retries; n == 0 || run.LinkLost == 0 || run.LinkDamaged == 0 {
		t.Errorf("%d retries, %d lost, %d damaged: want all above 0", n, run.LinkLost, run.LinkDamaged)
	}
}

// A capture at the receiver's port has every frame except those lost by the link, and
// marks the damaged ones. A capture at the sender's port has all of them.
func TestCapturesShowArrivedFrames(t *testing.T) {
	s := lossy(t, "0.02")
	s.Links[0].Corrupt = topology.Ways{topology.Forth: 0.02}
	s.Duration = 2 * unit.Millisecond
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	recorders := map[int]*tap.Recorder{}
	for _, i := range []int{0, 2} {
		recorders[i] = tap.NewRecorder(i, l.Machine(i), []fabric.Port{0}, tap.Window{To: unit.Never}, 0)
		l.Look(i, tap.Of(recorders[i]))
	}
	l.Run(s.Duration)
	ways := map[string]int{}
	for i, r := range recorders {
		for _, p := range r.Take() {
			if i == 2 || p.Sent() {
				ways[s.Nodes[i].Name+" "+p.Way.String()]++
			}
		}
	}
	port := l.Machine(2).(*switching.Switch).Stats().Ports[0]
	arrived := ways["s0 in"] + ways["s0 damaged"]
	// What is still on the link has left h0 alone.
	if flying := ways["h0 out"] - arrived - int(port.LostFrames); ways["s0 damaged"] != int(port.DamagedFrames) || ways["s0 gone"] > 0 || flying < 0 || flying > 12 || port.LostFrames < 20 || port.DamagedFrames < 20 {
		t.Errorf("captured %v, the switch counts %d lost and %d damaged", ways, port.LostFrames, port.DamagedFrames)
	}
}

package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// broken is two leaves and two spines, of which one fails for half a millisecond, and a link
// that loses one of 500 frames.
const broken = `name: broken
duration: 3ms
defaults: {link: {rate: 10Gbps, delay: 1us}, nic: {timeout: 524288ns}}
nics: {h0..h3: , r0..r3: }
switches: {leaf0..leaf1: , spine0..spine1: }
links:
  - endpoints: [h0..h3, leaf0]
  - endpoints: [r0..r3, leaf1]
  - {endpoints: [leaf0, spine0..spine1], rate: 40Gbps}
  - {endpoints: [leaf1, spine0..spine1], rate: 40Gbps, loss: [0, 2e-3]}
flows:
  - {name: F, from: h0..h3, to: r0..r3, size: endless}
changes:
  - {at: 1ms, link_down: leaf0--spine0}
  - {at: 1500us, link_up: leaf0--spine0}
`

// Retransmitted bytes are the payload of the packets sent with a PSN that was sent before. The
// depth is the largest distance of an arriving packet from the expected one. The bytes on
// parallel links are those that left for each spine.
func TestFiguresOfRecoveryAgreeWithTheNotes(t *testing.T) {
	for _, scheme := range []string{"dcqcn", "irn"} {
		s, err := scenariofile.ParseWith("broken", []byte(broken), []topology.Setting{{Key: "scheme", Value: scheme}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		l.PerFrame = true
		next, again, depth := map[fabric.FlowID]uint32{}, unit.Bytes(0), int32(0)
		var sent [2]unit.Bytes // by leaf0 to each spine
		leaf := nodeNamed(s, "leaf0")
		l.Listen = func(node int, notes []fabric.Note) {
			for _, n := range notes {
				switch {
				case n.Kind == fabric.Transmitted && frame.PSNDiff(n.PSN(), next[n.Flow]) < 0:
					again += n.Bytes()
				case n.Kind == fabric.Transmitted:
					next[n.Flow] = frame.NextPSN(n.PSN(), 1)
				case n.Kind == fabric.OutOfSequence:
					depth = max(depth, frame.PSNDiff(n.PSN(), n.ExpectedPSN()))
				case n.Kind == fabric.Dequeued && node == leaf && n.Port >= 4:
					sent[n.Port-4] += n.Bytes()
				}
			}
		}
		l.Run(s.Duration)
		run, err := l.Outcome()
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 || run.RetransmittedBytes != again {
			t.Errorf("%s: %d B retransmitted, %d by the notes", scheme, run.RetransmittedBytes, again)
		}
		if depth == 0 || run.OutOfOrder != int64(depth) {
			t.Errorf("%s: depth %d, %d by the notes", scheme, run.OutOfOrder, depth)
		}
		if p := run.Parallel[0]; p.Switch != "leaf0" || len(p.Links) != 2 || p.Links[0].Bytes != sent[0] || p.Links[1].Bytes != sent[1] {
			t.Errorf("%s: parallel links %+v, by the notes %v", scheme, run.Parallel[0], sent)
		}
		if f := run.Failure; f == nil || f.At != unit.Millisecond || f.Least >= f.Before || f.Recovery == 0 {
			t.Errorf("%s: failure %+v", scheme, f)
		}
	}
}

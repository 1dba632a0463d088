package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// lossyCommands lacks the verb of its commands.
const lossyCommands = `name: lossy
duration: 3ms
defaults: {link: {rate: 10Gbps, delay: 1us, loss: 1e-2}, nic: {timeout: 100us}}
nics: {h0..h1: , r0..r1: }
switches: {s0: }
links: [{endpoints: ["h0..h1, r0..r1", s0]}]
commands:
  - {name: C, from: h0, to: [r0, r1], size: 100KB, count: 10, verb: `

// Retransmitted bytes of commands are the payload that leaves a NIC in packets whose PSN, or a
// later one, left it before. A READ request that is sent again carries none: if it was lost, its
// response is sent for the first time.
func TestRetransmittedBytesOfCommandsAgreeWithTheFrames(t *testing.T) {
	for _, verb := range []string{"put", "get"} {
		for _, scheme := range []string{"dcqcn", "irn", "mrc"} {
			s, err := scenariofile.ParseWith("lossy", []byte(lossyCommands+verb+"}\n"), []topology.Setting{{Key: "scheme", Value: scheme}})
			if err != nil {
				t.Fatal(err)
			}
			l, err := lab.New(s)
			if err != nil {
				t.Fatal(err)
			}
			var again unit.Bytes
			for i := range s.NodesOf(topology.NIC) {
				next := map[uint32]uint32{} // PSN after the newest one sent, by destination QP
				l.Look(i, &node.Tap{Event: func(unit.Time, []fabric.Note) {}, Frame: func(_ unit.Time, _ fabric.Port, way node.Way, f *frame.Frame) {
					if way != node.Out || f.Class() != frame.ClassRoCE || f.Payload == 0 {
						return
					}
					if n, known := next[f.DestQP()]; known && frame.PSNDiff(f.PSN(), n) < 0 {
						again += unit.Bytes(f.Payload)
						return
					}
					next[f.DestQP()] = frame.NextPSN(f.PSN(), 1)
				}})
			}
			l.Run(s.Duration)
			run, err := l.Outcome()
			if err != nil {
				t.Fatal(err)
			}
			if again == 0 || run.RetransmittedBytes != again {
				t.Errorf("%s under %s: %s retransmitted, %s by the frames", verb, scheme, run.RetransmittedBytes, again)
			}
		}
	}
}

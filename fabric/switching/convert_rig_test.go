package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The flow of the tests goes from host 1 to host 0.
const (
	flowFrom, flowTo = 1, 0
	flowPort         = 0xc123
	stampSent        = 5_000_000
	stampReceived    = 5_020_000
)

func onward(flow uint32, ecn frame.ECN) *frame.Frame {
	p := frame.Packet{
		Src: frame.HostIP(flowFrom), Dst: frame.HostIP(flowTo), DSCP: uint8(lossless) * 8, ECN: ecn, TTL: 64,
		SrcPort: flowPort, Payload: size - 70, Timestamped: true, Timestamps: frame.Timestamps{Sent: stampSent},
		BTH: frame.BTH{Opcode: frame.WriteMiddle, DestQP: frame.ReceiverQP(flow)},
	}
	var f frame.Frame
	p.Build(&f)
	return &f
}

// answer is the ACK to a packet of flow 0, in the class of control packets.
func answer() *frame.Frame { return reply(nil) }

func reply(change func(*frame.Packet)) *frame.Frame {
	p := frame.Packet{
		Src: frame.HostIP(flowTo), Dst: frame.HostIP(flowFrom), DSCP: uint8(control) * 8, TTL: 64,
		SrcPort: flowPort, Timestamped: true, Timestamps: frame.Timestamps{Sent: stampSent, Received: stampReceived},
		BTH:  frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(0)},
		AETH: frame.AETH{Syndrome: frame.SyndromeACK},
	}
	if change != nil {
		change(&p)
	}
	var f frame.Frame
	p.Build(&f)
	return &f
}

// known returns a flow as the control plane knows it.
func known(flow fabric.FlowID) fabric.Flow {
	return fabric.Flow{ID: flow, From: flowFrom, To: flowTo, Source: flowPort}
}

// converting returns a switch whose lossless class is rewritten, with the settings of
// the document's example.
func converting(t testing.TB, change func(*Config)) *rig {
	cfg := rackConfig(4)
	cfg.Classes[lossless].Marking, cfg.Classes[lossless].Rewrite = cc.MarkNone, cc.RewriteRTTX
	cfg.RTTX = RTTXConfig{Params: rttx.Default(), Flows: []fabric.Flow{known(0), known(1)}}
	cfg.RTTX.Age = unit.Millisecond
	if change != nil {
		change(&cfg)
	}
	return newRig(t, cfg)
}

// window sends 8 frames of flow 0, the given number of them with CE. It returns the
// instant after the last.
func (r *rig) window(marked int) (now unit.Time) {
	for i := range 8 {
		ecn := frame.ECT0
		if i < marked {
			ecn = frame.CE
		}
		r.arrive(now, flowFrom, onward(0, ecn))
		now += slot
	}
	return now
}

// returned passes an ACK in at now, runs until it is sent, and returns it as sent.
func (r *rig) returned(now unit.Time, f *frame.Frame) frame.Frame {
	r.t.Helper()
	r.arrive(now, flowTo, f)
	r.run(now + us)
	sent := r.sent(flowFrom)
	if len(sent) == 0 {
		r.t.Fatal("no return packet left")
	}
	return sent[len(sent)-1]
}

func (r *rig) wantStamps(f frame.Frame, sent, received frame.Stamp) {
	r.t.Helper()
	if got := f.Timestamps(); got != (frame.Timestamps{Sent: sent, Received: received}) {
		r.t.Errorf("T_s %d, T_r %d, want %d and %d", got.Sent, got.Received, sent, received)
	}
}

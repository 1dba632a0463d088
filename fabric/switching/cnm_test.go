package switching

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
)

// The frame that completes 150000 bytes is sampled. Its CNM goes to the frame's sender,
// ahead of data, and names queue and flow.
func TestCNMToTheSampledSender(t *testing.T) {
	r := newRig(t, qcnConfig(4))
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(us, 2, from(2, data(1, 9, lossless))) // in transmission at port 1
	r.arrive(us, 2, from(2, data(1, 9, lossless))) // waits there
	for n := range 150 {
		if got := r.notes(fabric.CNMSent); len(got) != 0 {
			t.Fatalf("sampled before frame %d", n+1)
		}
		f := from(1, data(0, 7, lossless))
		f.Trace = 42
		r.arrive(us, 1, f)
	}
	r.run(3 * us)
	// Qoff = 150000 - 26000, Qdelta = 150000: |Fb| = 424000, above 130000.
	want := frame.CNM{
		Dst: frame.HostMAC(1), Src: frame.SwitchMAC(0), Feedback: 63, CPID: 0x020100000000_0003,
		QOffset: 124_000 / 64, QDelta: 150_000 / 64, Priority: 3,
	}
	want.Take(from(1, data(0, 7, lossless)))
	if diff := cmp.Diff([]frame.CNM{want}, r.cnms(1)); diff != "" {
		t.Fatal(diff)
	}
	sent := r.leaving(1, frame.ClassCNM)[0]
	if qp, ok := sent.SampledQP(); !ok || qp != frame.ReceiverQP(7) || sent.Trace != 42 {
		t.Errorf("names queue pair %x, trace %d", qp, sent.Trace)
	}
	if data := r.sent(1); len(data) != 2 || sent.Arrival > data[1].Arrival {
		t.Error("the CNM did not go ahead of the data that waits")
	}
	wantNote := fabric.Note{Event: fabric.NewCNMSent(63, 150_000), At: us, Priority: lossless, Flow: 7, Trace: 42}
	if got := r.notes(fabric.CNMSent); len(got) != 1 || got[0] != wantNote {
		t.Errorf("noted %+v, want %+v", got, wantNote)
	}
	if s := r.Stats(); s.Ports[0].Classes[lossless].CNMsSent != 1 || s.Ports[1].Classes[control].OriginatedFrames != 1 {
		t.Error("the CNM is not counted")
	}
}

// Another switch forwards a CNM by its destination address, in the class of CNMs. Its
// bytes are unchanged, whatever the marking law of that class.
func TestCNMCrossesAnotherSwitch(t *testing.T) {
	first := fill(t, qcnConfig(3), 150)
	cnm := first.leaving(1, frame.ClassCNM)[0]
	cfg := qcnConfig(4)
	cfg.Classes[control].Marking = cc.MarkRED
	cfg.Classes[control].RED = REDConfig{Pmax: 1}
	r := newRig(t, cfg)
	for feedback := range uint8(4) { // the last two bits lie where IP has ECN
		cnm.Header()[15] = cnm.Header()[15]&^3 | feedback
		r.out.Reset()
		for range 3 { // the queue behind the second is above the threshold
			r.arrive(us, 3, &cnm)
		}
		r.run(10 * us)
		got := r.leaving(1, frame.ClassCNM)
		for i := range got {
			got[i].Arrival = cnm.Arrival
			if got[i] != cnm {
				t.Errorf("% x left as % x", cnm.Header(), got[i].Header())
			}
		}
		if len(got) != 3 {
			t.Errorf("%d of 3 CNMs left", len(got))
		}
	}
	if c := r.Stats().Ports[1].Classes[control]; c.SentFrames != 12 || c.MarkedFrames != 0 {
		t.Errorf("sent %d, marked %d in the class of CNMs", c.SentFrames, c.MarkedFrames)
	}
}

// A CNM never causes a CNM, even in a class whose every frame is sampled.
func TestCNMIsNotAnswered(t *testing.T) {
	cnm := fill(t, qcnConfig(3), 150).leaving(1, frame.ClassCNM)[0]
	cfg := qcnConfig(4)
	cfg.CNMClass = lossless
	cfg.Classes[lossless].QCN = QCNConfig{SetPoint: 1, SampleBase: 1}
	r := newRig(t, cfg)
	r.arrive(0, 1, pause(lossless, 65535))
	for range 10 {
		r.arrive(us, 3, &cnm)
	}
	if got := r.notes(fabric.CNMSent); len(got) != 0 {
		t.Errorf("noted %+v", got)
	}
	r.arrive(2*us, 3, from(3, data(1, 9, lossless)))
	if got := r.notes(fabric.CNMSent); len(got) != 1 {
		t.Errorf("a data frame is answered with %d CNMs", len(got))
	}
}

// The CNMs of one flow take one of the ports of equal cost, those of many flows all.
func TestCNMsSpreadOverEqualPaths(t *testing.T) {
	e := newECMP(1, [][]fabric.Port{{4, 5}})
	count := map[fabric.Port]int{}
	for flow := range uint32(1000) {
		c := frame.CNM{Src: frame.SwitchMAC(0)}
		c.Take(from(0, data(0, flow, lossless)))
		var f, g frame.Frame
		c.Build(&f)
		c.Feedback, c.QDelta, c.CPID = 9, 77, 5
		c.Build(&g)
		a, _ := e.route(0, &f)
		b, _ := e.route(0, &g)
		if a != b {
			t.Fatalf("flow %d takes ports %d and %d", flow, a, b)
		}
		count[a]++
	}
	if count[4] < 400 || count[5] < 400 {
		t.Errorf("the ports have %v flows", count)
	}
}

// A CNM without buffer or route is dropped, noted and counted.
func TestCNMLost(t *testing.T) {
	full := qcnConfig(3)
	full.Classes[control].XOFF = 1
	lost := qcnConfig(3)
	lost.Routes[1] = nil
	for _, c := range []struct {
		cfg  Config
		want fabric.DropReason
	}{{full, fabric.DropBuffer}, {lost, fabric.DropNoRoute}} {
		r := fill(t, c.cfg, 150)
		got := r.notes(fabric.Dropped)
		if len(got) != 1 || got[0].Reason() != c.want || got[0].Flow != 7 || got[0].Priority != control {
			t.Errorf("%v: noted %+v", c.want, got)
		}
		account := r.Stats().Ports[1].Classes[control]
		if account.OriginatedFrames != 1 || account.DroppedFrames != 1 || len(r.cnms(1)) != 0 {
			t.Errorf("%v: counted %+v", c.want, account)
		}
	}
}

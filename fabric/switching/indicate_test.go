package switching

import (
	"encoding/binary"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
)

// indicating returns a switch that marks above 2000 bytes and indicates it in ACKs.
func indicating(change ...func(*cc.CETHParams)) Config {
	cfg := rackConfig(3)
	cfg.Classes[lossless].Marking = cc.MarkRED
	cfg.Classes[lossless].RED = REDConfig{Kmin: 2 * size, Kmax: 2 * size, Pmax: 1}
	p := cc.DefaultCETH()
	p.Source, p.Form, p.Room = cc.CETHSwitch, cc.CETHResv6, 9*size
	for _, edit := range change {
		edit(&p)
	}
	cfg.Indicate = &Indication{p}
	return cfg
}

// ackFrom returns an ACK from a host to host 1.
func ackFrom(host int, reserved uint8, becn bool) *frame.Frame {
	p := frame.Packet{
		Src: frame.HostIP(host), Dst: frame.HostIP(1), DSCP: uint8(control) * 8, TTL: 64, SrcPort: 49152,
		BTH:  frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(1), BECN: becn, Resv6: reserved},
		AETH: frame.AETH{Syndrome: frame.SyndromeACK},
	}
	var f frame.Frame
	p.Build(&f)
	return &f
}

// ackBehind returns the ACK of host 0 as it leaves a switch whose queue to host 0 holds
// the given number of frames behind the one in transmission.
func ackBehind(t *testing.T, cfg Config, frames int, ack *frame.Frame) frame.Frame {
	t.Helper()
	r := newRig(t, cfg)
	for i := range frames + 1 {
		r.arrive(us, fabric.Port(1+i%2), packet(0, 1, lossless, frame.ECT0, uint32(i), size))
	}
	r.arrive(us+1, 0, ack)
	sent := r.sent(1)
	if len(sent) != 1 {
		t.Fatalf("%d ACKs left", len(sent))
	}
	return sent[0]
}

// CETH-3: ¶9: the indicating end may be a switch: it writes the first CETH into the
// passing ACK, by its own queue of the data that the ACK answers.
// CETH-27: the ICRC stays as it was.
func TestSwitchIndicates(t *testing.T) {
	for frames, want := range map[int]uint8{2: 0, 3: 0b0001_01, 4: 0b0001_10, 6: 0b0001_10, 7: 0b0001_11, 9: 0b0001_11} {
		plain := ackFrom(0, 0, false)
		got := ackBehind(t, indicating(), frames, plain)
		if got.BECN() != (want != 0) || got.Resv6() != want {
			t.Errorf("%d frames behind: BECN %v, Reserved 6 %06b, want %06b", frames, got.BECN(), got.Resv6(), want)
		}
		a, b := plain.Materialise(nil), got.Materialise(nil)
		if binary.LittleEndian.Uint32(a[len(a)-4:]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
			t.Error("the ICRC has changed")
		}
	}
}

// An ACK that indicates more congestion is unchanged; one that indicates less is raised.
func TestSwitchNeverLowersTheDegree(t *testing.T) {
	for reserved, want := range map[uint8]uint8{0b0001_01: 0b0001_10, 0b0001_10: 0b0001_10, 0b0001_11: 0b0001_11} {
		if got := ackBehind(t, indicating(), 4, ackFrom(0, reserved, true)); !got.BECN() || got.Resv6() != want {
			t.Errorf("%06b became %06b, want %06b", reserved, got.Resv6(), want)
		}
	}
	if got := ackBehind(t, indicating(), 0, ackFrom(0, 0b0001_11, true)); got.Resv6() != 0b0001_11 {
		t.Errorf("a switch without congestion wrote %06b", got.Resv6())
	}
}

func TestSwitchIndicatesByTheForm(t *testing.T) {
	alone := indicating(func(p *cc.CETHParams) { p.Mode = cc.CETHIndication })
	if got := ackBehind(t, alone, 4, ackFrom(0, 0, false)); !got.BECN() || got.Resv6() != 0 {
		t.Errorf("BECN %v, Reserved 6 %06b", got.BECN(), got.Resv6())
	}
	ratio := indicating(func(p *cc.CETHParams) { p.Form = cc.CETHRatio6 })
	if got := ackBehind(t, ratio, 4, ackFrom(0, 0, false)); got.Resv6() != 0b10 {
		t.Errorf("Reserved 6 %06b", got.Resv6())
	}
}

// Only ACKs are changed, and only by a switch with Indicate set.
func TestSwitchIgnoresOtherPackets(t *testing.T) {
	cfg := indicating()
	cnp := packet(1, 1, control, frame.NotECT, 0, 62)
	p := frame.Packet{Src: frame.HostIP(0), Dst: frame.HostIP(1), DSCP: uint8(control) * 8, BTH: frame.BTH{Opcode: frame.OpcodeCNP}}
	p.Build(cnp)
	for name, c := range map[string]struct {
		cfg Config
		f   *frame.Frame
	}{
		"a CNP": {cfg, cnp}, "an ACK of a host that is not here": {cfg, ackFrom(7, 0, false)},
		"another switch": {rackConfig(3), ackFrom(0, 0, false)},
	} {
		got := ackBehind(t, c.cfg, 8, c.f)
		got.Arrival, c.f.Arrival = 0, 0
		if got != *c.f {
			t.Errorf("%s was changed", name)
		}
	}
}

// With ports of equal cost, the queue on the path of the flow counts.
func TestSwitchFindsThePathOfTheData(t *testing.T) {
	cfg := indicating()
	cfg.Routes[0] = []fabric.Port{0, 2}
	e := newECMP(cfg.Seed, cfg.Routes)
	for flow := range uint32(50) {
		d := packet(0, flow, lossless, frame.ECT0, 0, size)
		a := ackFrom(0, 0, false)
		q := frame.Packet{
			Src: frame.HostIP(0), Dst: d.SrcIP(), SrcPort: d.SrcPort(),
			BTH: frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(flow)},
		}
		q.Build(a)
		to, _ := e.route(0, d)
		if back, ok := e.back(a); !ok || back != to {
			t.Fatalf("flow %d goes by port %d, its ACK finds %d", flow, to, back)
		}
	}
}

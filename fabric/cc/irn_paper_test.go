package cc

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// IRN, SIGCOMM 2018: the timeouts are 320 us and 100 us, the shorter one with N = 3.
func TestIRNDefaults(t *testing.T) {
	if p := DefaultIRN(); p.RTOHigh != 320*us || p.RTOLow != 100*us || p.FewPackets != 3 || p.Cap != 0 {
		t.Errorf("%+v", p)
	}
}

// IRN, SIGCOMM 2018: the packets in flight are bounded by the bandwidth-delay product divided by the MTU: 120 KB
// at 40 Gbit/s and 24 us are some 110 packets, which with their headers have about 1090 bytes.
func TestIRNWindow(t *testing.T) {
	path := Path{Rate: 40 * gbps, BaseRTT: 24 * us, MTU: 1090}
	for name, c := range map[string]struct {
		cap  unit.Bytes
		path Path
		want int64
	}{
		"paper":      {0, path, 111},
		"own cap":    {20_000, path, 19},
		"one packet": {1, path, 1},
		"exact":      {0, Path{Rate: 8 * gbps, BaseRTT: us, MTU: 500}, 2},
		"unknown":    {0, Path{Rate: 40 * gbps, MTU: 1000}, 1<<63 - 1},
	} {
		p := IRNParams{Cap: c.cap}
		if got := p.Window(c.path); got != c.want {
			t.Errorf("%s: %d packets, want %d", name, got, c.want)
		}
	}
}

// IRN, SIGCOMM 2018: the congestion control is that of DCQCN, unchanged.
func TestIRNReactsAsDCQCN(t *testing.T) {
	irn, err := New("irn", Default(), Path{Rate: line}, 0)
	if err != nil {
		t.Fatal(err)
	}
	dcqcn, _ := New("dcqcn", Default(), Path{Rate: line}, 0)
	for i := range 50 {
		now := unit.Time(i) * 37 * us
		for _, a := range []Algorithm{irn, dcqcn} {
			if i%7 == 0 {
				a.Handle(now, marked)
			}
			a.Handle(now, Signal{Kind: Sent, Bytes: 1_000_000})
			a.Tick(now)
		}
		if irn.Rate() != dcqcn.Rate() {
			t.Fatalf("at %v the rate is %v, under dcqcn %v", now, irn.Rate(), dcqcn.Rate())
		}
	}
}

// IRN, SIGCOMM 2018: RoCE needs no PFC if the NIC recovers from losses well.
func TestIRNIsLossyAndSelective(t *testing.T) {
	if s, err := Find("irn"); err != nil || !s.Lossy || s.Recovery != RecoverySelective {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestIRNParamsAreValidated(t *testing.T) {
	for name, edit := range map[string]func(*IRNParams){
		"no rto_low":    func(p *IRNParams) { p.RTOLow = 0 },
		"rto_low above": func(p *IRNParams) { p.RTOLow = p.RTOHigh + 1 },
		"few_packets":   func(p *IRNParams) { p.FewPackets = -1 },
		"cap":           func(p *IRNParams) { p.Cap = -1 },
		"retries":       func(p *IRNParams) { p.Retries = -1 },
	} {
		p := DefaultIRN()
		if edit(&p); p.Validate() == nil {
			t.Errorf("%s: %+v is valid", name, p)
		}
	}
}

package frame

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{HostMAC(0).String(), "02:00:00:00:00:00"},
		{HostMAC(0x123456).String(), "02:00:00:12:34:56"},
		{SwitchMAC(258).String(), "02:01:00:00:01:02"},
		{HostIP(0).String(), "10.0.0.1"},
		{HostIP(255).String(), "10.0.1.0"},
		{HostIP(MaxHosts - 1).String(), "10.255.255.254"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestHostOfIP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.IntRange(0, MaxHosts-1).Draw(t, "host")
		if got := HostIP(host).Host(); got != host {
			t.Fatalf("host %d decoded as %d", host, got)
		}
	})
	for _, ip := range []IP{0, 10 << 24, 11 << 24, 11<<24 - 1, 9<<24 | 1, 1<<32 - 1} {
		if got := ip.Host(); got != -1 {
			t.Errorf("%v is host %d", ip, got)
		}
	}
}

func TestHostOfMAC(t *testing.T) {
	for _, host := range []int{0, 1, 0x123456, MaxHosts - 1} {
		if got := HostMAC(host).Host(); got != host {
			t.Errorf("host %d decoded as %d", host, got)
		}
	}
	for _, a := range []Addr{{}, SwitchMAC(1), pfcAddr, {2, 0, 1}, HostMAC(MaxHosts)} {
		if got := a.Host(); got != -1 {
			t.Errorf("%v is host %d", a, got)
		}
	}
}

func TestQueuePairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flow := uintBelow(t, MaxFlows, "flow")
		for qp, wantSender := range map[uint32]bool{SenderQP(flow): true, ReceiverQP(flow): false} {
			got, sender, ok := FlowOfQP(qp)
			if got != flow || sender != wantSender || !ok || qp > mask24 || qp < firstQP {
				t.Fatalf("flow %d, queue pair %#x: %d, %v, %v", flow, qp, got, sender, ok)
			}
		}
	})
	for _, qp := range []uint32{0, 1, 15, receiverQP, receiverQP + 15, receiverQP - 1, mask24, 1 << 24, 1<<24 + 16, 1<<32 - 1} {
		if flow, _, ok := FlowOfQP(qp); ok {
			t.Errorf("queue pair %#x belongs to flow %d", qp, flow)
		}
	}
}

func TestPSN(t *testing.T) {
	for _, c := range []struct {
		a, b uint32
		want int32
	}{
		{5, 3, 2},
		{3, 5, -2},
		{7, 7, 0},
		{0, mask24, 1},
		{mask24, 0, -1},
		{2, mask24 - 1, 4},
		{1<<23 - 1, 0, 1<<23 - 1},
		{1 << 23, 0, -1 << 23},
	} {
		if got := PSNDiff(c.a, c.b); got != c.want {
			t.Errorf("PSNDiff(%#x, %#x) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, n := uintBelow(t, 1<<24, "psn"), uintBelow(t, 1<<23, "n")
		next := NextPSN(p, n)
		if next > mask24 || PSNDiff(next, p) != int32(n) || PSNDiff(p, next) != -int32(n) {
			t.Fatalf("%#x + %d = %#x", p, n, next)
		}
	})
}

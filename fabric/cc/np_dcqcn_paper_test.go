package cc

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// cnps passes marked packets at the given instants to a notification point and
// returns the instants of its CNPs.
func cnps(n *DCQCNNotifier, packets []unit.Time) (sent []unit.Time) {
	tick := func(end unit.Time) {
		for at, ok := n.Next(); ok && at < end; at, ok = n.Next() {
			if n.Tick(at) {
				sent = append(sent, at)
			}
		}
	}
	for _, at := range packets {
		tick(at)
		if n.Packet(at, true) {
			sent = append(sent, at)
		}
	}
	tick(unit.Second)
	return sent
}

// DCQCN §3.1: a marked packet triggers a CNP at once if none was sent for the
// flow in the last 50 us; after that at most one every 50 us, if a packet in
// that time was marked.
func TestDCQCNNotifier(t *testing.T) {
	for _, c := range []struct {
		name          string
		packets, want []unit.Time
	}{
		{"one", []unit.Time{7 * us}, []unit.Time{7 * us}},
		{"two within 50 us", []unit.Time{7 * us, 8 * us}, []unit.Time{7 * us, 57 * us}},
		{"many within 50 us", []unit.Time{0, 1, 2, 3, 49 * us}, []unit.Time{0, 50 * us}},
		{"one per interval", []unit.Time{0, 40 * us, 80 * us, 120 * us}, []unit.Time{0, 50 * us, 100 * us, 150 * us}},
		{"after a silent interval at once", []unit.Time{0, 51 * us}, []unit.Time{0, 51 * us}},
		{"at the very end of an interval at once", []unit.Time{0, 50 * us}, []unit.Time{0, 50 * us}},
	} {
		n := NewDCQCNNotifier(DefaultDCQCN())
		if got := cnps(&n, c.packets); !slices.Equal(got, c.want) {
			t.Errorf("%s: CNPs at %v, want %v", c.name, got, c.want)
		}
		if _, running := n.Next(); running {
			t.Errorf("%s: the timer still runs", c.name)
		}
	}
}

// ns3-rdma, CheckandSendQCN: a marked first packet of a flow triggers a CNP at
// once. From that packet on, a check every 50 us sends a CNP if a packet since
// the previous check was marked, until a check finds no packet at all.
func TestDCQCNNotifierWithClockedIntervals(t *testing.T) {
	n := NewDCQCNNotifier(dcqcnPreset("ns3-rdma"))
	type packet struct {
		at     unit.Time
		marked bool
	}
	var sent []unit.Time
	for _, p := range []packet{
		{7 * us, false},
		{20 * us, false},
		{60 * us, true},
		{61 * us, true},
		{107 * us, true},
		{120 * us, false},
		{170 * us, true},
		{300 * us, true},
		{310 * us, true},
	} {
		for at, ok := n.Next(); ok && at < p.at; at, ok = n.Next() {
			if n.Tick(at) {
				sent = append(sent, at)
			}
		}
		if n.Packet(p.at, p.marked) {
			sent = append(sent, p.at)
		}
	}
	sent = append(sent, cnps(&n, nil)...)
	// Checks at 57, 107, 157, 207, 257 us; the last finds no packet. The flow's clock
	// begins anew at 300 us.
	if want := []unit.Time{107 * us, 207 * us, 300 * us, 350 * us}; !slices.Equal(sent, want) {
		t.Errorf("CNPs at %v, want %v", sent, want)
	}
	if _, running := n.Next(); running {
		t.Error("the timer still runs")
	}
}

// An early Tick does not end the interval.
func TestDCQCNNotifierWaitsForTheInterval(t *testing.T) {
	n := NewDCQCNNotifier(DefaultDCQCN())
	n.Packet(0, true)
	n.Packet(10*us, true)
	if n.Tick(49 * us) {
		t.Error("a CNP before 50 us are over")
	}
	if !n.Tick(50 * us) {
		t.Error("no CNP when 50 us are over")
	}
}

// An unmarked packet triggers no CNP and starts no timer.
func TestDCQCNNotifierIsSilentWithoutMarks(t *testing.T) {
	n := NewDCQCNNotifier(DefaultDCQCN())
	if n.Packet(0, false) {
		t.Error("a CNP for an unmarked packet")
	}
	if _, running := n.Next(); running {
		t.Error("the timer runs")
	}
}

// Two CNPs are never less than an interval apart, and every marked packet is
// followed by a CNP within an interval.
func TestDCQCNNotifierSpacing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packets := rapid.SliceOfN(rapid.Int64Range(0, int64(unit.Millisecond)), 1, 50).Draw(t, "packets")
		slices.Sort(packets)
		times := make([]unit.Time, len(packets))
		for i, at := range packets {
			times[i] = unit.Time(at)
		}
		n := NewDCQCNNotifier(DefaultDCQCN())
		sent := cnps(&n, times)
		for i := 1; i < len(sent); i++ {
			if sent[i]-sent[i-1] < 50*us {
				t.Fatalf("CNPs at %s and %s", sent[i-1], sent[i])
			}
		}
		for _, at := range times {
			if !slices.ContainsFunc(sent, func(s unit.Time) bool { return s >= at && s-at <= 50*us }) {
				t.Fatalf("no CNP for the packet at %s: %v", at, sent)
			}
		}
	})
}

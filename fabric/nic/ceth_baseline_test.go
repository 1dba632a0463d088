package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// independent makes NICs send a CNP for every marked packet, in addition to its ACK.
func independent(c *Config) {
	c.Scheme, c.Notification = "cnp", cc.NotifyDCQCN
	c.CC.DCQCN.CNPInterval = 0
}

// limited limits the receivers' control packets to one per microsecond.
func limited(c *Config) { c.ControlRate = 1_000_000 }

// CETH-8: fig. 2: a marked packet is answered by an ACK and by a CNP of its own,
// which carries no state; the source handles both.
func TestBaselineSendsACKAndCNP(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 8000)}, independent)
	b.markFrom(2, 5)
	b.run(unit.Millisecond)
	acks, cnps := b.from(1, isACK), b.from(1, isCNP)
	if len(acks) != 8 || len(cnps) != 3 {
		t.Errorf("%d ACKs and %d CNPs for 8 packets, 3 of them marked", len(acks), len(cnps))
	}
	for _, f := range cnps {
		var p frame.Packet
		if err := p.Parse(&f.Frame); err != nil || p.RecRate != 0 || p.CETH.Words != 0 {
			t.Errorf("CNP %+v, %v", p, err)
		}
	}
	for _, f := range acks {
		if f.BECN() || f.Resv6()|f.Resv7() != 0 {
			t.Errorf("the ACK of %d indicates congestion", f.PSN())
		}
	}
	s := b.nics[0].Stats()
	if s.RPCNPHandled != 3 || s.Senders[0].AckedBytes != 8000 {
		t.Errorf("the source handled %d CNPs and %d bytes of ACKs", s.RPCNPHandled, s.Senders[0].AckedBytes)
	}
}

// heldUp returns the times that the control packets of a kind waited at the receiver,
// measured from the arrival of the data packets that they answer.
func (b *fabricBench) heldUp(answered func(*frame.Frame) bool, answer func(*frame.Frame) bool) (waits []unit.Time) {
	data := b.from(0, answered)
	for i, f := range b.from(1, answer) {
		waits = append(waits, f.start-data[i].Arrival)
	}
	return waits
}

// CETH-9: ¶5, ¶112: under the receiver's limit ACKs and CNPs wait for one another.
// CETH-63: ¶177: aggregated ACKs are half as many packets, and wait less.
func TestLimitedReceiverDelaysTheBaselineMore(t *testing.T) {
	wait := func(change func(*Config)) (last unit.Time, packets int) {
		// One packet every 0.85 us, and one answer every 1 us.
		f := flow(0, 40_000)
		f.Initial = 10 * gbps
		b := newBench(t, 2, []FlowConfig{f}, change, limited)
		b.nics[0].qps.Senders[0].SetReaction(cc.NewFixed(f.Initial))
		b.mark(1, 1)
		b.run(unit.Millisecond)
		waits := b.heldUp(isData, isACK)
		return waits[39], len(b.from(1, isACK)) + len(b.from(1, isCNP))
	}
	apart, twice := wait(independent)
	together, once := wait(aggregated())
	if once != 40 || twice != 80 {
		t.Errorf("%d and %d control packets for 40 marked data packets", once, twice)
	}
	// The last answer is the 40th in a row, or the 80th; the data took 40 x 0.85 us.
	if together < 5*us || together > 7*us || apart < 44*us || apart > 46*us {
		t.Errorf("the last ACK waits %v aggregated and %v apart, want about 6 us and 45 us", together, apart)
	}
}

// CETH-10: ¶6: the source gets no signal that congestion is over. It raises its rate by
// its timer alone, whose period is far longer than the delay of the ACKs.
func TestBaselineDoesNotSignalTheEndOfCongestion(t *testing.T) {
	recovered := func(change func(*Config)) unit.Time {
		b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, change)
		b.markFrom(0, 3)
		b.run(unit.Millisecond)
		moved := b.noted(0, fabric.RateChanged)
		for i, n := range moved {
			if n.Rate() > n.OldRate() {
				if last := b.from(0, isData)[3].Arrival; i > 0 && n.At > last {
					return n.At - last
				}
			}
		}
		t.Fatal("the rate never rose")
		return 0
	}
	// From the first unmarked packet at the receiver on: an ACK returns after 5 us; the
	// timer of DCQCN fires 55 us after the last cut.
	if got := recovered(independent); got < 50*us || got > 65*us {
		t.Errorf("the baseline rises after %v, want its timer of 55 us", got)
	}
	if got := recovered(aggregated(func(p *cc.CETHParams) { p.Window = us })); got < 5*us || got > 6*us {
		t.Errorf("CETH rises after %v, want the delay of the return path", got)
	}
}

// CETH-11: ¶113: the longer ACKs wait at the receiver, the more delivered packets the
// source still counts as in flight.
func TestBaselineOvercountsPacketsInFlight(t *testing.T) {
	overcount := func(change func(*Config)) unit.Bytes {
		f := flow(0, Endless)
		f.Initial = 7 * gbps
		b := newBench(t, 2, []FlowConfig{f}, change, limited)
		b.nics[0].qps.Senders[0].SetReaction(cc.NewFixed(f.Initial))
		b.mark(1, 1)
		b.run(100 * us)
		s, r := b.nics[0].Stats().Senders[0], b.nics[1].Stats().Receivers[0]
		return r.DeliveredBytes - s.AckedBytes
	}
	apart, together := overcount(independent), overcount(aggregated())
	// At 7 Gbit/s a packet takes 1.2 us. The limit admits an ACK in that time, but not an
	// ACK and a CNP. With ACKs alone the counts differ only by the 5 us of the way back.
	if together > 5000 || apart < 30_000 {
		t.Errorf("%d bytes delivered and not counted apart, %d together", apart, together)
	}
}

// CETH-12: ¶114: a CNP carries no state. The source reaches its target in several steps;
// with the degree it needs one.
func TestBaselineWalksToItsTarget(t *testing.T) {
	const target = testRate / 4
	steps := func(change func(*Config)) (n int) {
		b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, change)
		b.mark(1, 1)
		b.run(200 * us)
		for _, moved := range b.noted(0, fabric.RateChanged) {
			if n++; moved.Rate() <= target+1 {
				return n
			}
		}
		return 0
	}
	if apart, together := steps(independent), steps(aggregated()); apart < 2 || together != 1 {
		t.Errorf("%d steps apart and %d together to a quarter of line rate", apart, together)
	}
}

// CETH-38: a flow whose peer does not support CETH uses separate ACKs and CNPs, while
// other flows of the same NIC use CETH.
func TestPeerWithoutCETHGetsTheBaseline(t *testing.T) {
	old, young := flow(0, 8000), flow(1, 8000)
	old.Baseline = true
	b := newBench(t, 2, []FlowConfig{old, young}, aggregated())
	b.mark(1, 1)
	b.run(40 * us)
	count := map[uint32][2]int{}
	for _, f := range b.from(1, func(*frame.Frame) bool { return true }) {
		id, _, _ := frame.FlowOfQP(f.DestQP())
		c := count[id]
		if isCNP(&f.Frame) {
			c[0]++
		} else if f.BECN() {
			c[1]++
		}
		count[id] = c
	}
	if count[0] != [2]int{1, 0} || count[1] != [2]int{0, 8} {
		t.Errorf("CNPs and indications by flow: %v", count)
	}
	if s := b.nics[0].Stats(); s.RPCNPHandled != 1 || s.Senders[0].AckedBytes != 8000 || s.Senders[1].AckedBytes != 8000 {
		t.Errorf("%+v", s)
	}
}

package cc

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// MRC-12: main_uec.cpp 697 and uec.h: the RTO is 15 us and six times the time of a full queue, at least 100 us. The
// queue holds one bandwidth-delay product with trimming and five without, each of which takes a base RTT.
func TestRTO(t *testing.T) {
	for _, c := range []struct {
		trimming  NSCCTrimming
		rtt, want unit.Time
	}{
		{TrimmingOn, 12 * us, 100 * us}, // 87 us
		{TrimmingOn, 14 * us, 100 * us}, // 99 us
		{TrimmingOn, 15 * us, 105 * us},
		{TrimmingOfSwitches, 15 * us, 105 * us},
		{TrimmingOff, 2 * us, 100 * us}, // 75 us
		{TrimmingOff, 12 * us, 375 * us},
	} {
		p := Default()
		p.NSCC.Trimming = c.trimming
		if got := p.RTO(Path{BaseRTT: c.rtt}); got != c.want {
			t.Errorf("trimming %s, base RTT %s: %s, want %s", c.trimming, c.rtt, got, c.want)
		}
		if got := p.RTO(Path{BaseRTT: us, LongestRTT: c.rtt}); got != c.want {
			t.Errorf("trimming %s, longest path %s: %s, want %s", c.trimming, c.rtt, got, c.want)
		}
		p.NSCC.BaseRTT = c.rtt
		if got := p.RTO(Path{BaseRTT: us, LongestRTT: 500 * us}); got != c.want {
			t.Errorf("trimming %s, base_rtt %s: %s, want %s", c.trimming, c.rtt, got, c.want)
		}
		p.MRC.RTO = 7 * us
		if got := p.RTO(Path{BaseRTT: c.rtt}); got != 7*us {
			t.Errorf("a timeout of its own: %s", got)
		}
	}
}

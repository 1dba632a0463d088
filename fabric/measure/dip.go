package measure

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// dipShare is the share of the bottleneck's payload rate below which a bin belongs to
// the throughput dip.
const dipShare = 0.95

// steady is how long the single flows must average dipShare to count as recovered. It
// covers several control loops of every scheme.
const steady = unit.Millisecond

// used returns the share of the bottleneck's payload rate that the single flows reach
// together, for each whole bin from the first burst on. It returns nil without a burst.
func used(s *topology.Scenario, delivered []Series) (shares []float64) {
	start, allowed := burstStart(s), float64(Bottleneck(s).In(s.Bin))
	if start == unit.Never || allowed == 0 {
		return nil
	}
	for bin := int(start / s.Bin); bin < int(s.Duration/s.Bin); bin++ {
		sum := int64(0)
		for _, d := range delivered {
			if d.Flow >= 0 && d.Flow < len(s.Flows) {
				sum += d.Bins[bin]
			}
		}
		shares = append(shares, float64(sum)/allowed)
	}
	return shares
}

// dip returns the time from the first burst to the end of the last bin below
// dipShare. It returns 0 if no bin is below dipShare.
func dip(s *topology.Scenario, shares []float64) unit.Time {
	for i := len(shares) - 1; i >= 0; i-- {
		if shares[i] < dipShare {
			return after(s, i+1)
		}
	}
	return 0
}

// recovery returns the time from the first burst until the single flows have recovered,
// or until the end of the run if they do not. It returns 0 if no bin is below
// dipShare. Unlike dip it excludes dips that a scheme's own oscillation causes later.
func recovery(s *topology.Scenario, shares []float64) unit.Time {
	if len(shares) == 0 {
		return 0
	}
	start := burstStart(s)
	return recoveredAt(s, start, shares) - start
}

// recovered returns the index of the first bin after the dip that is at or above
// dipShare and whose following steady time averages at or above it. It returns 0 if no
// bin is below dipShare, and -1 if the single flows do not recover.
func recovered(s *topology.Scenario, shares []float64) int {
	first := 0
	for first < len(shares) && shares[first] >= dipShare {
		first++
	}
	if first == len(shares) {
		return 0
	}
	span := int(max(1, steady/s.Bin))
	for i := first + 1; i+span <= len(shares); i++ {
		sum := 0.0
		for _, share := range shares[i : i+span] {
			sum += share
		}
		if shares[i] >= dipShare && sum >= dipShare*float64(span) {
			return i
		}
	}
	return -1
}

// after returns the time from the first burst to the beginning of the i-th bin after
// it.
func after(s *topology.Scenario, i int) unit.Time {
	start := burstStart(s)
	return (start/s.Bin+unit.Time(i))*s.Bin - start
}

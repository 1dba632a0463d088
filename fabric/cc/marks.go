package cc

import "github.com/rackfab/rackfab/fabric/unit"

// marks is DCQCN's estimate of the share of marked packets, derived from the
// frequency of CNPs (SIGCOMM'15, §3.1, eq. 1 and 2):
//
//	CNP               alpha := (1 - g)·alpha + g
//	K without a CNP   alpha := (1 - g)·alpha
//
// Invariant: 0 <= alpha <= 1.
type marks struct {
	g     float64
	k     unit.Time
	alpha float64
	decay unit.Time // when alpha decays next
}

// negligible is the alpha below which decay stops: a cut would take less than a
// bit per second of a 100 Tbit/s line.
const negligible = 1e-14

func newMarks(p DCQCNParams) marks {
	return marks{g: p.G, k: p.AlphaTimer, alpha: p.Alpha, decay: unit.Never}
}

// cut updates alpha for a CNP at now and returns the share of the rate to cut:
// half of alpha before the CNP.
func (m *marks) cut(now unit.Time) (share float64) {
	// Only the next CNP reads alpha, so the decay is applied here.
	for ; m.decay <= now && m.alpha > negligible; m.decay += m.k {
		m.alpha = float64((1 - m.g) * m.alpha)
	}
	share = m.alpha / 2
	m.alpha = float64((1-m.g)*m.alpha) + m.g
	m.decay = now + m.k
	return share
}

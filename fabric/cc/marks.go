package cc

import "github.com/rackfab/rackfab/fabric/unit"

// marks is DCQCN's estimate of how many packets are marked, from how often CNPs
// come (SIGCOMM'15, §3.1, eq. 1 and 2):
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

// negligible is an alpha below which a cut takes less than a bit per second of a
// line of 100 Tbit/s; it decays no further.
const negligible = 1e-14

func newMarks(p DCQCNParams) marks {
	return marks{g: p.G, k: p.AlphaTimer, alpha: p.Alpha, decay: unit.Never}
}

// cut takes a CNP and gives the share of the rate that it costs: half of alpha as
// it stood before the CNP.
func (m *marks) cut(now unit.Time) (share float64) {
	// Alpha matters to the next CNP alone, so that it decays here.
	for ; m.decay <= now && m.alpha > negligible; m.decay += m.k {
		m.alpha = float64((1 - m.g) * m.alpha)
	}
	share = m.alpha / 2
	m.alpha = float64((1-m.g)*m.alpha) + m.g
	m.decay = now + m.k
	return share
}

package switching

import (
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric/unit"
)

// mark is the marking law of DCQCN's congestion point (Zhu et al., SIGCOMM 2015, §3.1
// and fig. 5). q is the egress queue after the frame has left it, or, for the
// converter, before the frame has joined it:
//
//	q <= Kmin          never
//	Kmin < q <= Kmax   with probability Pmax * (q - Kmin) / (Kmax - Kmin)
//	Kmax < q           always
//
// It draws a random number only between the thresholds.
func (r *REDConfig) mark(q unit.Bytes, random *rand.PCG) bool {
	switch {
	case q <= r.Kmin:
		return false
	case q > r.Kmax:
		return true
	}
	return uniform(random) < r.Pmax*float64(q-r.Kmin)/float64(r.Kmax-r.Kmin)
}

// uniform returns a random number in [0, 1) with 53 random bits.
func uniform(random *rand.PCG) float64 { return float64(random.Uint64()>>11) / (1 << 53) }

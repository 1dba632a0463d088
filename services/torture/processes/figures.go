package processes

import (
	"slices"
	"time"

	"github.com/rackfab/rackfab/fabric/measure"
)

// Figures sum up measured times.
type Figures struct {
	Count             int
	Median, P95, Most time.Duration // 0 without times
}

// figures sums up times, with nearest-rank percentiles.
func figures(times []time.Duration) Figures {
	if len(times) == 0 {
		return Figures{}
	}
	slices.Sort(times)
	return Figures{len(times), measure.Quantile(times, 500), measure.Quantile(times, 950), times[len(times)-1]}
}

// Took returns the figures of the recoveries from a kind of fault.
func Took(list []Recovery, k Kind) Figures {
	return of(list, k, func(r Recovery) time.Duration { return r.Took })
}

// Named returns the figures of the time until the rack named a process, of the faults of a
// kind after which it did.
func Named(list []Recovery, k Kind) Figures {
	return of(list, k, func(r Recovery) time.Duration { return r.Named })
}

func of(list []Recovery, k Kind, figure func(Recovery) time.Duration) Figures {
	var times []time.Duration
	for _, r := range list {
		if t := figure(r); r.Kind == k && t > 0 {
			times = append(times, t)
		}
	}
	return figures(times)
}

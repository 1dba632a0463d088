package changes

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// maxImpaired is the largest share of envelopes that may be impaired: a run cannot
// complete on a bus that loses all of them.
const maxImpaired = 0.9

// CheckImpairment returns nil if an impairment is valid, else INVALID_ARGUMENT with
// one violation per fault. field is the name of the request's field that contains
// the impairment.
func CheckImpairment(field string, i *rackfabv1.BusImpairment) error {
	faults := &scenariofile.Faults{File: "bus"}
	add := func(key, format string, args ...any) {
		faults.List = append(faults.List, scenariofile.Fault{Key: key, What: fmt.Sprintf(format, args...)})
	}
	for _, share := range []struct {
		key   string
		value float64
	}{{"lose", i.GetLose()}, {"repeat", i.GetRepeat()}, {"delay", i.GetDelay()}} {
		if !(share.value >= 0 && share.value <= maxImpaired) { // NaN too
			add(share.key, "%g, want a share from 0 to %g", share.value, maxImpaired)
		}
	}
	if sum := i.GetLose() + i.GetRepeat() + i.GetDelay(); len(faults.List) == 0 && sum > maxImpaired {
		add("", "lose, repeat and delay sum to %.4g, want at most %g", sum, maxImpaired)
	}
	if len(faults.List) == 0 {
		return nil
	}
	return serve.InvalidFaults(faults, field, func(key string) string {
		if key == "" {
			return field
		}
		return field + "." + key
	})
}

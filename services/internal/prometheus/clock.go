package prometheus

import (
	"time"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// defaultLookback is the lookback of Prometheus, for runs of unknown bins.
const defaultLookback = 5 * time.Minute

// perMilli is the fabric time of 1 ms of Prometheus, in ps.
const perMilli = int64(unit.Nanosecond)

// clock converts instants of a run to and from Prometheus' ms since 1970.
type clock struct{ epoch int64 } // ms

func clockOf(r *rackfabv1.CollectedRun) clock { return clock{r.GetEpochUnixNano() / 1e6} }

// millis converts an instant in ps, rounded down.
func (c clock) millis(ps int64) int64 { return c.epoch + ps/perMilli }

// ps converts an instant in ms, within the range of fabric time.
func (c clock) ps(millis int64) int64 {
	const most = int64(unit.Never) / perMilli / 2
	return min(max(millis-c.epoch, 0), most) * perMilli
}

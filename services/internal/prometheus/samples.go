package prometheus

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// repeated is the number of bins after which nodes export an unchanged value again.
const repeated = 20

// maxAnswer is the maximum number of points in an answer of a collector.
const maxAnswer = 1_000_000

// sample is a point on Prometheus' clock.
type sample struct {
	at    int64 // ms
	value float64
}

func (s sample) T() int64                    { return s.at }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

// samples is a list of points in order.
type samples []sample

func (s samples) Get(i int) chunks.Sample { return s[i] }
func (s samples) Len() int                { return len(s) }

// filled returns a series with its points between two instants in ms. A series of the
// fabric has a point in every bin, although nodes export only changes: 0 for amounts and
// maxima, and the previous value for levels.
func (q *querier) filled(s series, from, to int64) storage.Series {
	var list samples
	kind, ours := telemetry.Level, true
	if s.is != nil {
		kind, ours = kindOf(s.is.GetMetric())
	}
	if s.run.GetBinPs() > 0 && ours {
		list = q.bins(s, kind, from, to)
	} else {
		list = stored(s, from, to)
	}
	q.read += len(list)
	return &storage.SeriesEntry{Lset: s.labels, SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator {
		return storage.NewListSeriesIterator(list)
	}}
}

// stored returns the points of a series as they are.
func stored(s series, from, to int64) (list samples) {
	for i, ps := range s.is.GetTimesPs() {
		if at := clockOf(s.run).millis(ps); from <= at && at <= to {
			list = append(list, sample{at, s.is.GetValues()[i]})
		}
	}
	return list
}

// bins returns a point per bin, up to the last bin of the run. A level has none before its
// first value.
func (q *querier) bins(s series, kind telemetry.MetricKind, from, to int64) (list samples) {
	at, bin := clockOf(s.run), s.run.GetBinPs()
	first, last := at.ps(from)/bin, min(at.ps(to), s.run.GetLastPointPs())/bin
	if q.read+int(max(last-first, 0)) > maxPoints {
		q.read = maxPoints + 1
		return nil
	}
	value, next := 0.0, 0
	switch {
	case s.is == nil:
		value = float64(bin)
	case kind == telemetry.Level:
		value = math.NaN()
	}
	times, values := s.is.GetTimesPs(), s.is.GetValues()
	for ; next < len(times) && times[next]/bin < first; next++ {
		if kind == telemetry.Level {
			value = values[next]
		}
	}
	for b := first; b <= last; b++ {
		have := value
		for ; next < len(times) && times[next]/bin == b; next++ {
			have = values[next]
		}
		if kind == telemetry.Level {
			value = have
		}
		if t := at.millis((b+1)*bin - 1); t >= from && t <= to && !math.IsNaN(have) {
			list = append(list, sample{t, have})
		}
	}
	return list
}

package health

import (
	"maps"
	"sync"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Runs counts the runs of a process, and sums up the counters of its runs. The zero
// value is ready for use. Runs is safe for concurrent use.
type Runs struct {
	mu          sync.Mutex
	begun       int64
	grants      int64
	reached     unit.Time
	current     Source             // of the current run; nil for none
	accumulated map[series]float64 // of the runs that have ended
}

// series is a metric with the values of its labels.
type series struct {
	metric *Metric
	labels [2]string
}

// Begin counts a run. counters, if not nil, is the source of the run's own counters.
func (r *Runs) Begin(counters Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
	r.reached, r.current = 0, counters
}

// Grant counts a grant.
func (r *Runs) Grant() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants++
}

// Reach sets the fabric time that the current run has reached.
func (r *Runs) Reach(at unit.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reached = at
}

// End ends the current run. Its counters keep their values; its gauges become 0.
func (r *Runs) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(r.current)
	r.current = nil
}

// Add adds the counters of a source. Its gauges count as 0.
func (r *Runs) Add(from Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(from)
}

func (r *Runs) add(from Source) {
	r.accumulated = r.plus(from)
	for s := range r.accumulated {
		if !s.metric.counter() {
			r.accumulated[s] = 0
		}
	}
}

// plus returns the accumulated values plus those of a source, which may be nil.
func (r *Runs) plus(from Source) map[series]float64 {
	total := maps.Clone(r.accumulated)
	if total == nil {
		total = map[series]float64{}
	}
	if from != nil {
		from(func(m *Metric, value float64, labels ...string) {
			s := series{metric: m}
			copy(s.labels[:], labels)
			total[s] += value
		})
	}
	return total
}

// Export is the Source of all values.
func (r *Runs) Export(put Put) {
	r.mu.Lock()
	defer r.mu.Unlock()
	put(RunsTotal, float64(r.begun))
	put(Grants, float64(r.grants))
	put(FabricTime, float64(r.reached)/float64(unit.Second))
	for s, value := range r.plus(r.current) {
		put(s.metric, value, s.labels[:len(s.metric.Labels)]...)
	}
}

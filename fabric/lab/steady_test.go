package lab_test

import (
	"fmt"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// star is n senders on one switch with one receiver, each with an endless flow.
func star(t *testing.T, n int, set ...topology.Setting) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin(fmt.Sprintf("star-%d", n))
	s, err := scenariofile.ParseWith("star", text, set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goodputs returns the payload of each flow from an instant to the end of the run, in
// bytes.
func goodputs(s *topology.Scenario, run *measure.Run, from unit.Time) []float64 {
	list := make([]float64, len(s.Flows))
	for _, g := range run.Series.Goodput {
		for _, bytes := range g.Bins[int(from/s.Bin):] {
			list[g.Flow] += float64(bytes)
		}
	}
	return list
}

// jain returns the fairness index of Jain, Chiu and Hawe: 1 if all are equal, 1/n if
// one has everything.
func jain(values []float64) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(values)) * squares)
}

// use returns the share of the bottleneck's payload rate that the flows together used
// since an instant.
func use(s *topology.Scenario, run *measure.Run, from unit.Time) float64 {
	sum := 0.0
	for _, bytes := range goodputs(s, run, from) {
		sum += bytes
	}
	return sum / float64(measure.Bottleneck(s).In(s.Duration-from))
}

// longestQueue returns the peak of an egress queue in bytes since an instant.
func longestQueue(s *topology.Scenario, run *measure.Run, from unit.Time) (port string, most unit.Bytes) {
	for _, q := range run.Series.Queues {
		for _, bytes := range q.Peak[int(from/s.Bin):] {
			if unit.Bytes(bytes) > most {
				port, most = q.Port, unit.Bytes(bytes)
			}
		}
	}
	return port, most
}

// PCN-2: two flows under DCQCN that begin with 36 and 8 Gbit/s come to share a
// link of 40 Gbit/s fairly.
func TestDCQCNConverges(t *testing.T) {
	for _, seed := range []string{"1", "2", "3"} {
		s := star(t, 2, topology.Setting{Key: "scheme", Value: "dcqcn"}, topology.Setting{Key: "duration", Value: "160ms"},
			topology.Setting{Key: "F0.initial_rate", Value: "36Gbps"}, topology.Setting{Key: "F1.initial_rate", Value: "8Gbps"},
			topology.Setting{Key: "seed", Value: seed})
		run := measured(t, s)
		const settled = 80 * unit.Millisecond
		port, queue := longestQueue(s, run, settled)
		index, share := jain(goodputs(s, run, settled)), use(s, run, settled)
		t.Logf("seed %s: Jain %.4f, use %.3f, queue at %s up to %s", seed, index, share, port, queue)
		if index < 0.99 || share < 0.95 || run.Drops != 0 {
			t.Errorf("seed %s: Jain %.4f, use %.3f, %d drops", seed, index, share, run.Drops)
		}
	}
}

// N flows that together offer 20 % more than their bottleneck keep it busy under every
// scheme of the paper, with published settings and without loss.
func TestSteadyStateKeepsTheBottleneckBusy(t *testing.T) {
	for _, scheme := range []string{"pfc", "qcn", "dcqcn", "timely", "pcn"} {
		for n, initial := range map[int]string{2: "24Gbps", 8: "6Gbps"} {
			s := star(t, n, topology.Setting{Key: "scheme", Value: scheme}, topology.Setting{Key: "duration", Value: "40ms"},
				topology.Setting{Key: "flow.initial_rate", Value: initial})
			run := measured(t, s)
			const settled = 20 * unit.Millisecond
			port, queue := longestQueue(s, run, settled)
			share := use(s, run, settled)
			t.Logf("%s, %d flows: use %.3f, Jain %.4f, queue at %s up to %s", scheme, n, share, jain(goodputs(s, run, settled)), port, queue)
			if share < 0.9 || run.Drops != 0 || run.Retransmits != 0 {
				t.Errorf("%s, %d flows: use %.3f, %d drops, %d retransmitted", scheme, n, share, run.Drops, run.Retransmits)
			}
		}
	}
}

// A single flow has the whole link under every scheme of the paper.
func TestSingleFlowReachesLineRate(t *testing.T) {
	for _, scheme := range []string{"pfc", "qcn", "dcqcn", "timely", "pcn"} {
		s := star(t, 1, topology.Setting{Key: "scheme", Value: scheme}, topology.Setting{Key: "duration", Value: "10ms"})
		run := measured(t, s)
		// Timestamps take 8 of TIMELY's 1070 bytes, 0.7 %.
		if share := use(s, run, unit.Millisecond); share < 0.99 {
			t.Errorf("%s: use %.4f", scheme, share)
		}
		if _, queue := longestQueue(s, run, unit.Millisecond); queue > 2*1078 {
			t.Errorf("%s: a queue of %s", scheme, queue)
		}
	}
}

package torture

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// reference holds the results that every run of a scenario must have.
type reference struct {
	scenario *topology.Scenario // with the changes of the schedule
	digest   string
	lossless bool                    // no frame is lost, dropped or damaged
	at       map[unit.Time][]figures // of all nodes, at the ends of the steps
	nodes    []*measure.NodeResult
}

// measured runs the scenario in the lab, and checks at the instant of every event that
// the bytes are conserved.
func measured(s *topology.Scenario) (*reference, error) {
	r := &reference{scenario: s, at: map[unit.Time][]figures{}}
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		end := stepEnd(s.Duration, i)
		for next := l.Next(); next < end; next = l.Next() {
			l.Run(next + 1)
			if err := conserved(s, counted(l, s)); err != nil {
				return nil, fmt.Errorf("the lab at %s: %w", next, err)
			}
		}
		l.Run(end)
		r.at[end] = counted(l, s)
	}
	r.nodes = l.Results()
	run, err := measure.Merge(s, r.nodes)
	if err != nil {
		return nil, err
	}
	r.digest, r.lossless = run.Digest, run.Drops == 0 && run.LinkLost == 0 && run.LinkDamaged == 0
	return r, nil
}

// stepEnd returns the instant at which step i of a run ends.
func stepEnd(duration unit.Time, i int) unit.Time {
	return duration * unit.Time(i+1) / steps
}

// check checks the figures of a live run at an instant.
func (r *reference) check(at unit.Time, got []figures) error {
	err := conserved(r.scenario, got)
	if want := r.at[at]; err == nil && want != nil {
		err = same(r.scenario, got, want)
	}
	if lost := losses(got); err == nil && r.lossless && lost > 0 {
		err = fmt.Errorf("%d frames are lost in a lossless rack", lost)
	}
	if err != nil {
		return fmt.Errorf("at %s: %w", at, err)
	}
	return nil
}

// compare checks the results of a batch run: all but what the processes count of themselves.
func (r *reference) compare(digest uint64, nodes []*measure.NodeResult) error {
	if err := equal(digest, r.digest); err != nil {
		return err
	}
	for i, n := range nodes {
		got := *n
		got.Envelopes, got.CPU, got.EnvelopeFaults = 0, 0, measure.EnvelopeFaults{}
		g, err := json.Marshal(&got)
		if err != nil {
			return err
		}
		w, err := json.Marshal(r.nodes[i])
		if err != nil {
			return err
		}
		if !bytes.Equal(g, w) {
			return fmt.Errorf("node %s has the results %s, in the lab %s", r.scenario.Nodes[i].Name, g, w)
		}
	}
	return nil
}

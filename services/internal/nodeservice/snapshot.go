package nodeservice

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// snapshot is the state of the node's machine at an instant, for calls to the node
// itself. It is immutable.
type snapshot struct {
	at       unit.Time
	scenario *topology.Scenario
	index    int // of the node
	nic      nic.Stats
	sw       switching.Stats
	commands []*rackfabv1.CommandStats
}

// takeSnapshot takes and stores a snapshot of the machine. Only the loop may call it
// once the loop runs.
func (r *run) takeSnapshot(at unit.Time) *snapshot {
	s := &snapshot{at: at, scenario: r.scenario.Load(), index: r.index, commands: r.tally.list()}
	switch m := r.machine.(type) {
	case *nic.NIC:
		s.nic = m.Stats()
	case *switching.Switch:
		s.sw = m.Stats()
	}
	r.latest.Store(s)
	return s
}

// snapshot returns the latest snapshot of the current run.
func (s *Service) snapshot() (*snapshot, error) {
	r := s.present.Load()
	if r == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "node %s is not in a run", s.name)
	}
	return r.latest.Load(), nil
}

// settings returns the node's settings with the given keys, and all its settings if
// keys is empty.
func (s *Service) settings(keys []string) (*rackfabv1.NodeSettings, error) {
	now, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NodeSettings{Node: s.name, AtPs: int64(now.at)}
	var known []string
	for _, one := range scenariofile.NodeSettings(now.scenario, now.index, now.at) {
		known = append(known, one.Key)
		if len(keys) == 0 || slices.Contains(keys, one.Key) {
			out.Settings = append(out.Settings, &rackfabv1.NodeSetting{Key: one.Key, Value: one.Value, Live: one.Live})
		}
	}
	return out, checkNames("keys", keys, known, "setting of "+s.name)
}

// checkNames returns INVALID_ARGUMENT if a request's field has a name that is unknown.
// noun is what each name denotes, such as "peer of s0".
func checkNames(field string, names, known []string, noun string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			return serve.Invalid(field, "%q is not a %s, want one of %s", n, noun, strings.Join(known, ", "))
		}
	}
	return nil
}

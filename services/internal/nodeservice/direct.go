package nodeservice

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/nic"
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

// keep takes and stores a snapshot of the machine. Only the loop may call it once
// the loop runs.
func (p *part) keep(at unit.Time) *snapshot {
	s := &snapshot{at: at, scenario: p.scenario.Load(), index: p.index, commands: p.commands.list()}
	switch m := p.machine.(type) {
	case *nic.NIC:
		s.nic = m.Stats()
	case *switching.Switch:
		s.sw = m.Stats()
	}
	p.latest.Store(s)
	return s
}

// present returns the latest snapshot of the current run.
func (s *Service) present() (*snapshot, error) {
	p := s.part.Load()
	if p == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "node %s is in no run", s.name)
	}
	return p.latest.Load(), nil
}

// settings returns the node's settings with the given keys, and all its settings if
// keys is empty.
func (s *Service) settings(keys []string) (*rackfabv1.NodeSettings, error) {
	now, err := s.present()
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NodeSettings{Node: s.name, AtPs: int64(now.at)}
	var known []string
	for _, one := range now.scenario.NodeSettings(now.index, now.at) {
		known = append(known, one.Key)
		if len(keys) == 0 || slices.Contains(keys, one.Key) {
			out.Settings = append(out.Settings, &rackfabv1.NodeSetting{Key: one.Key, Value: one.Value, Live: one.Live})
		}
	}
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return nil, serve.Invalid("keys", "%q is no setting of %s, want one of %s", key, s.name, strings.Join(known, ", "))
		}
	}
	return out, nil
}

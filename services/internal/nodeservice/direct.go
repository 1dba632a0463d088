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

// snapshot is how the node's machine stood at an instant, for those who ask the
// node itself. Nobody changes it.
type snapshot struct {
	at       unit.Time
	scenario *topology.Scenario
	index    int // of the node
	nic      nic.Stats
	sw       switching.Stats
	commands []*rackfabv1.CommandStats
}

// keep takes a snapshot of the machine. The loop calls it, or nobody runs it yet.
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

// present gives the latest snapshot of the run that the node is in.
func (s *Service) present() (*snapshot, error) {
	p := s.part.Load()
	if p == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "node %s is in no run", s.name)
	}
	return p.latest.Load(), nil
}

// settings gives those settings of the node that keys name, all of them if there
// are none.
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

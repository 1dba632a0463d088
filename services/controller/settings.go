package controller

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// asked is a node that is asked something through its own service.
type asked struct {
	name string
	kind topology.NodeKind
	conn *grpc.ClientConn
}

// GetSettings asks nodes for what is set now.
func (s *service) GetSettings(ctx context.Context, q *rackfabv1.GetSettingsRequest) (*rackfabv1.GetSettingsResponse, error) {
	names, err := namedNodes(q.GetNodes())
	if err != nil {
		return nil, err
	}
	var nodes []asked
	err = s.call(func(l *session) error {
		if err := l.knows(names); err != nil {
			return err
		}
		for i, m := range l.members {
			if len(names) == 0 || slices.Contains(names, m.name) {
				nodes = append(nodes, asked{m.name, l.scenario.Nodes[i].Kind, m.conn})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.GetSettingsResponse{}
	for _, n := range nodes {
		settings, err := n.settings(ctx)
		if err != nil {
			return nil, status.Errorf(status.Code(err), "node %s: %s", n.name, status.Convert(err).Message())
		}
		out.Nodes = append(out.Nodes, settings)
	}
	return out, nil
}

// settings asks one node.
func (a *asked) settings(ctx context.Context) (*rackfabv1.NodeSettings, error) {
	if a.kind == topology.NIC {
		out, err := rackfabv1.NewNicServiceClient(a.conn).GetSettings(ctx, &rackfabv1.NicServiceGetSettingsRequest{})
		return out.GetSettings(), err
	}
	out, err := rackfabv1.NewSwitchServiceClient(a.conn).GetSettings(ctx, &rackfabv1.SwitchServiceGetSettingsRequest{})
	return out.GetSettings(), err
}

// namedNodes reads names and ranges of nodes, none for all.
func namedNodes(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	names, err := topology.Names(list)
	if err != nil {
		return nil, serve.Invalid("nodes", "%v", err)
	}
	return names, nil
}

// knows tells whether the rack has all these nodes.
func (s *session) knows(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(s.members, func(m *member) bool { return m.name == name }) {
			return serve.Invalid("nodes", "no node is called %s", name)
		}
	}
	return nil
}

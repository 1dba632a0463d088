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

// asked is a node that the controller queries through the node's own service.
type asked struct {
	name string
	kind topology.NodeKind
	conn *grpc.ClientConn
}

// GetSettings returns the current settings of nodes.
func (s *service) GetSettings(ctx context.Context, q *rackfabv1.GetSettingsRequest) (*rackfabv1.GetSettingsResponse, error) {
	var nodes []asked
	err := s.call(func(l *session) error {
		names, err := l.named(q.GetNodes())
		if err != nil {
			return err
		}
		for i, m := range l.members {
			if slices.Contains(names, m.name) {
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

// settings returns the current settings of one node.
func (a *asked) settings(ctx context.Context) (*rackfabv1.NodeSettings, error) {
	if a.kind == topology.NIC {
		out, err := rackfabv1.NewNicServiceClient(a.conn).GetSettings(ctx, &rackfabv1.NicServiceGetSettingsRequest{})
		return out.GetSettings(), err
	}
	out, err := rackfabv1.NewSwitchServiceClient(a.conn).GetSettings(ctx, &rackfabv1.SwitchServiceGetSettingsRequest{})
	return out.GetSettings(), err
}

// named returns the nodes in a list of names and ranges, and all known nodes for "".
func named(list string, known []string) ([]string, error) {
	if list == "" {
		return known, nil
	}
	names, err := topology.Names(list)
	if err != nil {
		return nil, serve.Invalid("nodes", "%v", err)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, serve.Invalid("nodes", "no node is called %s", n)
		}
	}
	return names, nil
}

// named returns the nodes of the run in a list of names and ranges, all for "".
func (s *session) named(list string) ([]string, error) {
	var known []string
	for _, m := range s.members {
		known = append(known, m.name)
	}
	return named(list, known)
}

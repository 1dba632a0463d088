package telemetry_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// On a link with retry, the drops of a port include the frames that the link lost, although they
// are replayed, and the port at the other end counts the frames to be replayed.
func TestPointsOfALinkWithRetry(t *testing.T) {
	s := scenario(t, "star-8", topology.Setting{Key: "duration", Value: "1ms"}, topology.Setting{Key: "link.loss", Value: "0.001"}, topology.Setting{Key: "link.llr", Value: "true"})
	l, nodes := metered(t, s)
	sw := l.Machine(len(s.Nodes) - 1).(*switching.Switch)
	bins := int((s.Duration + s.Bin - 1) / s.Bin)
	replayed, lost, counted := int64(0), int64(0), uint64(0)
	for i, end := range s.PortMap()[len(s.Nodes)-1] {
		at := telemetry.Series{Metric: telemetry.PortReplayed, Port: i, Peer: s.Nodes[end.Peer].Name}
		replayed += sum(nodes[len(nodes)-1].bins(at, bins, false))
		at.Metric, at.Reason = telemetry.PortDrops, fabric.DropLinkLoss.String()
		lost += sum(nodes[len(nodes)-1].bins(at, bins, false))
		counted += sw.Stats().Ports[i].LostFrames
	}
	frames := uint64(0)
	for _, p := range sw.Stats().Ports {
		frames += p.Retry.ReplayedFrames
	}
	if lost == 0 || uint64(lost) != counted || replayed < int64(frames) || frames == 0 {
		t.Errorf("%d lost, the switch counts %d; %d to be replayed, the switch counts %d", lost, counted, replayed, frames)
	}
}

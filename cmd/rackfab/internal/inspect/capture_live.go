package inspect

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// captureLive captures from the running rack until the window ends or the user presses
// Ctrl-C.
func captureLive(c *cobra.Command, f *captureFlags) error {
	if f.overrides.Given(c) {
		return errors.New("--scheme and --seed require a scenario, for a run in memory")
	}
	q := &rackfabv1.CaptureRequest{At: f.at, Kinds: f.kinds, SpanPs: int64(f.span)}
	if from := int64(f.window.From); from >= 0 {
		q.FromPs = &from
	}
	if f.window.To != unit.Never {
		q.ToPs = int64(f.window.To)
	}
	return f.rack.Call(func(api rackfabv1.FabricServiceClient) error {
		stream, err := api.Capture(c.Context(), q)
		if err != nil {
			return err
		}
		first, err := stream.Recv()
		if err != nil {
			return err
		}
		return captureStream(c, f, stream, first.GetStarted())
	})
}

// captureStream writes the packets of a started capture. The end of the rack, or
// Ctrl-C, is not an error.
func captureStream(c *cobra.Command, f *captureFlags, stream rackfabv1.FabricService_CaptureClient, started *rackfabv1.CaptureStarted) error {
	s := &topology.Scenario{Name: started.GetScenario(), Scheme: started.GetScheme(), Seed: started.GetSeed()}
	for _, n := range started.GetNodes() {
		node := topology.Node{Name: n.GetName(), Kind: topology.Switch}
		if n.Host != nil {
			node.Kind, node.Host = topology.NIC, int(n.GetHost())
		}
		s.Nodes = append(s.Nodes, node)
	}
	var points []tap.Point
	for _, p := range started.GetPoints() {
		points = append(points, tap.Point{Node: int(p.GetNode()), Port: fabric.Port(p.GetPort()), Name: p.GetName(), Peer: p.GetPeer()})
	}
	if points == nil {
		return errors.New("the controller returned no port")
	}
	out, err := newCaptureFile(c, f, s, points)
	if err != nil {
		return err
	}
	at := unit.Time(started.GetFromPs())
	f.begin(at)
	end := "Ctrl-C"
	if f.window.To != unit.Never {
		end = f.window.To.String()
	}
	if _, err := fmt.Fprintf(c.ErrOrStderr(), "capturing at %s from %s until %s, at most %s\n", unit.Counted(len(points), "port"), at, end, unit.Bytes(f.file.Limit)); err != nil {
		return out.discard(err)
	}
	at, err = out.follow(c, stream, at)
	why := ""
	switch {
	case err != nil:
		why = "incomplete"
	case c.Context().Err() == nil && at < f.window.To:
		why = "the live run ended"
	}
	if failed := out.end(c, at, why); failed != nil {
		return errors.Join(client.Reword(err), failed)
	}
	return err
}

// follow writes packets as they arrive until the capture ends, the file is full, or the
// user presses Ctrl-C. It returns the instant up to which the capture is complete,
// initially from.
func (f *captureFile) follow(c *cobra.Command, stream rackfabv1.FabricService_CaptureClient, from unit.Time) (until unit.Time, err error) {
	bar := cli.NewSpinner()
	defer bar.Finish()
	until = from
	for !f.full {
		event, err := stream.Recv()
		if c.Context().Err() != nil || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return until, err
		}
		lost := event.GetPackets().GetLost()
		if end := event.GetEnded(); end != nil {
			until, lost = unit.Time(end.GetAtPs()), end.GetLost()
		} else {
			until = unit.Time(event.GetPackets().GetAtPs())
		}
		for i, n := range lost[:min(len(lost), len(f.points))] {
			f.Lose(i, n)
		}
		if err := f.takeAll(event.GetPackets().GetPackets()); err != nil {
			return until, err
		}
		bar.Show(fmt.Sprintf("%d packets until %s", f.Packets(), until))
	}
	return until, nil
}

// takeAll converts packets from the controller and writes them.
func (f *captureFile) takeAll(list []*rackfabv1.CapturedPacket) error {
	packets := make([]tap.Packet, len(list))
	for i, m := range list {
		p := &packets[i]
		p.At, p.Node, p.Port = unit.Time(m.GetAtPs()), int(m.GetNode()), fabric.Port(m.GetPort())
		p.Queued, p.Held = unit.Bytes(m.GetQueueBytes()), unit.Bytes(m.GetHeldBytes())
		switch {
		case m.GetSent():
			p.Way = node.Out
		case m.GetDamaged():
			p.Way = node.Damaged
		}
		if !p.Frame.SetHeader(m.GetHeader()) {
			return fmt.Errorf("the controller sent a header of %d bytes", len(m.GetHeader()))
		}
		p.Frame.Payload, p.Frame.Trace = m.GetPayloadBytes(), m.GetTrace()
	}
	return f.take(packets)
}

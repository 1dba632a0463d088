package main

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
)

// captureLive captures the running rack, until its window ends or Ctrl-C.
func captureLive(c *cobra.Command, f captureFlags, o captureOptions) error {
	if f.scheme != "" || c.Flags().Changed("seed") {
		return errors.New("--scheme and --seed are for a run in memory: name a scenario, or leave them out")
	}
	q := &rackfabv1.CaptureRequest{At: f.at, Kinds: f.filter, SpanPs: int64(o.span)}
	if from := int64(o.window.From); from >= 0 {
		q.FromPs = &from
	}
	if o.window.To != unit.Never {
		q.ToPs = int64(o.window.To)
	}
	return withRack(f.address, f.tls, func(api rackfabv1.FabricServiceClient) error {
		stream, err := api.Capture(c.Context(), q)
		if err != nil {
			return err
		}
		first, err := stream.Recv()
		if err != nil {
			return err
		}
		return captureStream(c, stream, first.GetStarted(), f.output, o)
	})
}

// captureStream writes the packets of a capture that has begun. An end by Ctrl-C
// is no error.
func captureStream(
	c *cobra.Command, stream rackfabv1.FabricService_CaptureClient, started *rackfabv1.CaptureStarted, output string, o captureOptions,
) error {
	s := &topology.Scenario{Name: started.GetScenario(), Scheme: started.GetScheme(), Seed: started.GetSeed()}
	var points []tap.Point
	for _, p := range started.GetPoints() {
		points = append(points, tap.Point{Node: int(p.GetNode()), Port: fabric.Port(p.GetPort()), Name: p.GetName(), Peer: p.GetPeer()})
	}
	if points == nil {
		return errors.New("the controller names no port")
	}
	out, err := newCaptureFile(c, output, s, points, o.file)
	if err != nil {
		return err
	}
	at := unit.Time(started.GetFromPs())
	if _, err := fmt.Fprintf(c.ErrOrStderr(), "capturing at %d ports from %s on, until %s, at most %s\n",
		len(points), at, o.end(at), unit.Bytes(o.file.Limit)); err != nil {
		return err
	}
	bar := newTally()
	defer bar.finish()
	for !out.full {
		event, err := stream.Recv()
		if c.Context().Err() != nil || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(plain(err), out.end(c, at))
		}
		lost := event.GetPackets().GetLost()
		if end := event.GetEnded(); end != nil {
			at, lost = unit.Time(end.GetAtPs()), end.GetLost()
		} else {
			at = unit.Time(event.GetPackets().GetAtPs())
		}
		for i, n := range lost[:min(len(lost), len(points))] {
			out.Lose(i, n)
		}
		if err := out.takeAll(event.GetPackets().GetPackets()); err != nil {
			return err
		}
		bar.show(fmt.Sprintf("%d packets until %s", out.Packets(), at))
	}
	bar.finish()
	return out.end(c, at)
}

// end says what ends a capture that begins at from, beside its limit.
func (o *captureOptions) end(from unit.Time) string {
	switch {
	case o.span > 0:
		return (from + o.span).String()
	case o.window.To != unit.Never:
		return o.window.To.String()
	}
	return "Ctrl-C"
}

// takeAll writes packets as they came from the controller.
func (f *captureFile) takeAll(list []*rackfabv1.CapturedPacket) error {
	packets := make([]tap.Packet, len(list))
	for i, m := range list {
		p := &packets[i]
		p.At, p.Node, p.Port = unit.Time(m.GetAtPs()), int(m.GetNode()), fabric.Port(m.GetPort())
		p.Queued, p.Held = unit.Bytes(m.GetQueueBytes()), unit.Bytes(m.GetHeldBytes())
		if m.GetSent() {
			p.Way = node.Out
		}
		if !p.Frame.SetHeader(m.GetHeader()) {
			return fmt.Errorf("the controller sent a header of %d bytes", len(m.GetHeader()))
		}
		p.Frame.Payload, p.Frame.Trace = m.GetPayloadBytes(), m.GetTrace()
	}
	return f.take(packets)
}

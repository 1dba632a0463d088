package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/inspect"
	"github.com/rackfab/rackfab/report/table"
)

// view renders the state of a rack in about rows rows: the busiest links, the running
// flows, and the event counters. Loads are averages since the previous event, or since
// the start if there is none.
func view(was, is *rackfabv1.WatchResponse, rows int) string {
	links := table.New(1, "link", "load", "queue", "state", "PAUSE sent")
	for _, d := range atMost(directions(was, is), rows/2) {
		links.Row(d.name, legible(d.load), unit.Bytes(d.GetQueueBytes()), d.state, d.GetPausesSent())
	}
	flows := table.New(1, "flow", "from", "scheme", "rate", "acknowledged")
	running, ended := int64(0), int64(0)
	for _, n := range is.GetNodes() {
		running, ended = running+n.GetFlowsStarted()-n.GetFlowsEnded(), ended+n.GetFlowsEnded()
	}
	for _, f := range atMost(longFirst(is), rows/4) {
		flows.Row(f.GetName(), f.node, f.GetScheme(), legible(unit.Rate(f.GetRateBps())), unit.Bytes(f.GetAckedBytes()))
	}
	return fmt.Sprintf("%s\n\n%s\n%d flows run, %d have ended\n%s%s\n%s\n%s",
		statusText(is.GetStatus()), links, running, ended, flows, commandsText(is), eventsText(is), inspect.BusText(is.GetNodes()))
}

// commandsText returns one line on the commands of all hosts, or "" if there are none.
func commandsText(is *rackfabv1.WatchResponse) string {
	var posted, completed, failed int64
	for _, n := range is.GetNodes() {
		for _, k := range n.GetCommands() {
			posted, completed, failed = posted+k.GetPosted(), completed+k.GetCompleted(), failed+k.GetFailed()
		}
	}
	if posted == 0 {
		return ""
	}
	return fmt.Sprintf("commands: %d posted, %d completed, %d failed\n", posted, completed, failed)
}

// legible rounds a rate to three significant digits.
func legible(r unit.Rate) unit.Rate {
	step := unit.Rate(1)
	for r/step >= 1000 {
		step *= 10
	}
	return (r + step/2) / step * step
}

func atMost[T any](list []T, n int) []T { return list[:min(len(list), max(n, 4))] }

// direction is one direction of a link, as its transmitting end reports it.
type direction struct {
	*rackfabv1.PortStats
	name, state string
	load        unit.Rate
}

// directions returns both directions of all links, the busiest first.
func directions(was, is *rackfabv1.WatchResponse) (all []direction) {
	span := unit.Time(is.GetStatus().GetAtPs() - was.GetStatus().GetAtPs())
	for i, n := range is.GetNodes() {
		for k, p := range n.GetPorts() {
			d := direction{PortStats: p, name: n.GetNode() + "->" + p.GetPeer()}
			sent := p.GetSentBytes()
			if was != nil {
				sent -= was.GetNodes()[i].GetPorts()[k].GetSentBytes()
			}
			if span > 0 {
				d.load = unit.Over(unit.Bytes(sent), span)
			}
			switch {
			case p.GetDown():
				d.state = "down"
			case n.GetFrozen():
				d.state = "frozen"
			case p.GetPaused():
				d.state = "paused"
			}
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b direction) int {
		return cmp.Or(cmp.Compare(len(b.state), len(a.state)), cmp.Compare(b.load, a.load), cmp.Compare(b.GetQueueBytes(), a.GetQueueBytes()))
	})
	return all
}

// sending is a flow and its source node.
type sending struct {
	*rackfabv1.FlowStats
	node string
}

// longFirst returns the flows, those of bursts last.
func longFirst(is *rackfabv1.WatchResponse) (all []sending) {
	for _, n := range is.GetNodes() {
		for _, f := range n.GetFlows() {
			all = append(all, sending{f, n.GetNode()})
		}
	}
	slices.SortStableFunc(all, func(a, b sending) int {
		return cmp.Compare(strings.Count(a.GetName(), "/"), strings.Count(b.GetName(), "/"))
	})
	return all
}

// eventsText returns the sums of the event counters of all nodes.
func eventsText(is *rackfabv1.WatchResponse) string {
	sum := map[string]int64{}
	for _, n := range is.GetNodes() {
		for kind, count := range n.GetNotices() {
			sum[kind] += count
		}
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(sum)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, sum[kind]))
	}
	return "events: " + strings.Join(parts, ", ")
}

// statusText returns one line, and further lines if the bus is impaired or a node has
// failed.
func statusText(s *rackfabv1.RackStatus) string {
	state := strings.ToLower(strings.TrimPrefix(s.GetState().String(), "RACK_STATE_"))
	pace := free
	if s.GetPacePsPerSecond() > 0 {
		pace = unit.Time(s.GetPacePsPerSecond()).String() + "/s"
	}
	text := fmt.Sprintf("%s under %s: %s at %s, pace %s, %d nodes, %d changes, %d frame-hops, digest %016x",
		s.GetScenario(), s.GetScheme(), state, unit.Time(s.GetAtPs()), pace, s.GetNodes(), s.GetChanges(), s.GetFrameHops(), s.GetDigest())
	if len(s.GetImpairedNodes()) > 0 {
		text += "\n" + impairedText(s.GetImpairedNodes())
	}
	if s.GetFailedNode() != "" {
		text += fmt.Sprintf("\nnode %s failed: %s", s.GetFailedNode(), s.GetFailure())
	}
	return text
}

package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/inspect"
	"github.com/rackfab/rackfab/report/table"
)

// view renders the state of a rack in about rows rows: the links that matter most, the running
// flows, and the event counters. It says how many links and flows it leaves out. Loads are averages since the previous event, or, as
// "mean load", since instant 0 if there is none.
func view(was, is *rackfabv1.WatchResponse, rows int) string {
	links := table.New(1, "link", loadColumn(was), "queue", "state", "PAUSE received", "PAUSE sent").Right(1, 2)
	all := directions(was, is)
	shown := atMost(all, rows/2)
	for _, d := range shown {
		links.Row(d.name, d.loadText(), cli.Round(unit.Bytes(d.GetQueueBytes()), legible), d.state, d.GetPausesReceived(), d.GetPausesSent())
	}
	flows := table.New(1, "flow", "from", "scheme", "rate", "acknowledged")
	running, ended := int64(0), int64(0)
	for _, n := range is.GetNodes() {
		running, ended = running+n.GetFlowsStarted()-n.GetFlowsEnded(), ended+n.GetFlowsEnded()
	}
	sending := longFirst(is)
	listed := atMost(sending, rows/4)
	for _, f := range listed {
		flows.Row(f.GetName(), f.node, f.GetScheme(), cli.Round(unit.Rate(f.GetRateBps()), legible), unit.Bytes(f.GetAckedBytes()))
	}
	return fmt.Sprintf("%s%s\n\n%s%s\n%d flows run, %d have ended\n%s%s%s\n%s\n%s",
		statusText(is.GetStatus()), stalledText(is.GetStatus()), links, moreLinks(all[len(shown):]), running, ended, flows, moreFlows(len(sending)-len(listed)),
		commandsText(is), eventsText(is), inspect.BusText(is.GetNodes()))
}

// loadColumn returns the heading of the loads since an event, nil for those since instant 0.
func loadColumn(was *rackfabv1.WatchResponse) string {
	if was == nil {
		return "mean load"
	}
	return "load"
}

// moreLinks returns a line on the links that are left out, or "" if there are none.
func moreLinks(rest []direction) string {
	if len(rest) == 0 {
		return ""
	}
	queue, paused := unit.Bytes(0), int64(0)
	for _, d := range rest {
		queue, paused = max(queue, unit.Bytes(d.GetQueueBytes())), max(paused, d.GetPausesReceived())
	}
	if queue == 0 && paused == 0 {
		return fmt.Sprintf("%d more links, without a queue or PAUSE\n", len(rest))
	}
	return fmt.Sprintf("%d more links: queues of up to %s, at most %d PAUSE frames received\n", len(rest), cli.Round(queue, legible), paused)
}

// moreFlows returns a line on the flows that are left out, or "" if there are none.
func moreFlows(rest int) string {
	if rest == 0 {
		return ""
	}
	return fmt.Sprintf("%d more flows\n", rest)
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

// legible is the number of significant digits of loads and rates.
const legible = 3

func atMost[T any](list []T, n int) []T { return list[:min(len(list), max(n, 4))] }

// direction is one direction of a link, as its transmitting end reports it.
type direction struct {
	*rackfabv1.PortStats
	name, state string
	load        unit.Rate
}

// loadText returns the load of the direction, "-" for a link that is down.
func (d *direction) loadText() string {
	if d.GetDown() {
		return "-"
	}
	return cli.Round(d.load, legible).String()
}

// stopped orders the states of links: what is down or frozen explains the most.
var stopped = map[string]int{"down": 0, "frozen": 1, "paused": 2, "": 2}

// directions returns both directions of all links: first those that are down or frozen, then
// those with the longest queue, that are paused, with the most PAUSE frames received, and with
// the highest load.
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
		return cmp.Or(cmp.Compare(stopped[a.state], stopped[b.state]), cmp.Compare(b.GetQueueBytes(), a.GetQueueBytes()), cmp.Compare(len(b.state), len(a.state)),
			cmp.Compare(b.GetPausesReceived(), a.GetPausesReceived()), cmp.Compare(b.load, a.load))
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
	if parts == nil {
		return "no events"
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
	text := fmt.Sprintf("%s under %s: %s at %s, pace %s, %s, %s, %d frame-hops, digest %016x",
		s.GetScenario(), s.GetScheme(), state, unit.Time(s.GetAtPs()), pace, unit.Counted(s.GetNodes(), "node"), unit.Counted(s.GetChanges(), "change"), s.GetFrameHops(), s.GetDigest())
	if len(s.GetImpairedNodes()) > 0 {
		text += "\n" + impairedText(s.GetImpairedNodes())
	}
	if n := s.GetRecoveries(); n > 0 {
		text += fmt.Sprintf("\nrecoveries: %d", n)
	}
	for _, d := range s.GetDeadlocks() {
		text += "\nPFC deadlock: " + (&measure.Deadlock{Class: int(d.GetClass()), Links: d.GetLinks(), Since: unit.Time(d.GetSincePs())}).String()
	}
	if s.GetFailedNode() != "" {
		text += fmt.Sprintf("\nnode %s failed: %s", s.GetFailedNode(), s.GetFailure())
	}
	return text
}

// silentMs is the silence, in milliseconds, from which a process is called silent. It sends
// a message every second.
const silentMs = 2000

// stalledText returns lines that say why the rack does not advance, if statusText does not
// say it.
func stalledText(s *rackfabv1.RackStatus) string {
	if s.GetStalled() == "" || s.GetFailedNode() != "" {
		return ""
	}
	text := "\n" + s.GetStalled()
	for _, w := range s.GetWaits() {
		text += fmt.Sprintf("\n  %s at %s: no progress for %d s", w.GetProcess(), unit.Time(w.GetAtPs()), w.GetStillMs()/1000)
		switch {
		case w.GetBusLost():
			text += ", bus unreachable"
		case w.GetSilentMs() >= silentMs:
			text += fmt.Sprintf(", silent for %d s", w.GetSilentMs()/1000)
		case w.GetWaitsFor() != "":
			text += fmt.Sprintf(", waits for %s", w.GetWaitsFor())
		}
	}
	return text
}

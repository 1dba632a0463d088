package measure

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Commands summarizes one entry of the scenario's commands.
type Commands struct {
	Name      string     `json:"name"`
	Verb      string     `json:"verb"`
	Commands  int        `json:"commands"` // to be posted
	Completed int        `json:"completed"`
	Failed    int        `json:"failed"`
	Bytes     unit.Bytes `json:"bytes"` // payload delivered
	Start     unit.Time  `json:"start_ps"`
	End       unit.Time  `json:"end_ps"` // completion of the last command, or end of the run if some are incomplete
	Goodput   unit.Rate  `json:"goodput_bps"`
	P50       unit.Time  `json:"p50_ps"` // from the post to the completion event
	P99       unit.Time  `json:"p99_ps"`
	// Failures lists the first MostFailures failed commands.
	Failures []Failure `json:"failures,omitempty"`
}

// MostFailures is the largest number of failures listed one by one.
const MostFailures = 100

// Failure is a command that exhausted its retries or was refused.
type Failure struct {
	ID      uint32    `json:"id"`
	Node    string    `json:"node"` // the node that posted the command
	At      unit.Time `json:"at_ps"`
	Refused bool      `json:"refused,omitempty"` // the queue of the target's commands was full
}

// Initiator is a NIC that posts commands, with the last hop to it.
type Initiator struct {
	Name     string     `json:"name"`
	Queue    unit.Bytes `json:"queue_peak_bytes"` // of the switch port that leads to the NIC
	PAUSE    int64      `json:"pause_frames"`     // sent by the NIC
	StallIn  unit.Time  `json:"stall_in_ps"`      // requests waited for IN tokens alone
	StallOut unit.Time  `json:"stall_out_ps"`     // requests or responses waited for OUT tokens alone
	Skips    int64      `json:"skips"`            // units skipped for lack of IN tokens
	Retries  int64      `json:"retries"`
}

// Done is a completed command.
type Done struct {
	ID     uint32    `json:"id"`
	Posted unit.Time `json:"posted_ps"`
	End    unit.Time `json:"end_ps"`
}

// commands fills in the results of the commands and of their initiators. ports is the
// scenario's PortMap.
func commands(s *topology.Scenario, nodes []*NodeResult, ports [][]topology.End, run *Run) {
	streams := s.Streams()
	spans := make([][]unit.Time, len(s.Commands))
	for _, c := range s.Commands {
		run.Commands = append(run.Commands, Commands{Name: c.Name, Verb: c.Verb, Commands: c.Count * len(c.From) * max(1, len(c.To)), Start: c.At})
	}
	posting := map[int]bool{}
	for _, c := range s.Commands {
		for _, from := range c.From {
			posting[from] = posting[from] || !c.OfTarget()
		}
	}
	for node, n := range nodes {
		for _, d := range n.Done {
			i := topology.CommandOf(streams, d.ID)
			spans[i] = append(spans[i], d.End-d.Posted)
			run.Commands[i].End = max(run.Commands[i].End, d.End)
		}
		for _, f := range n.Failed {
			c := &run.Commands[topology.CommandOf(streams, f.ID)]
			c.Failed++
			c.Failures = append(c.Failures, f)
		}
		for _, d := range n.Delivered {
			if i := d.Flow - int(topology.FirstConnection); i >= 0 {
				run.Commands[i].Bytes += unit.Bytes(sum(d.Bins))
			}
		}
		if posting[node] {
			last := ports[node][0]
			run.Initiators = append(run.Initiators, initiator(n, &nodes[last.Peer].Ports[last.PeerPort]))
		}
	}
	for i := range run.Commands {
		c := &run.Commands[i]
		slices.Sort(spans[i])
		if c.Completed = len(spans[i]); c.Completed < c.Commands {
			c.End = s.Duration
		}
		slices.SortStableFunc(c.Failures, func(a, b Failure) int { return cmp.Compare(a.At, b.At) })
		c.Failures = c.Failures[:min(len(c.Failures), MostFailures)]
		c.P50, c.P99 = Quantile(spans[i], 500), Quantile(spans[i], 990)
		c.Goodput = unit.Over(c.Bytes, c.End-c.Start)
	}
}

// initiator returns the results of a NIC that posts commands. last is the switch port
// that leads to it.
func initiator(n *NodeResult, last *PortResult) Initiator {
	one := Initiator{Name: n.Node, PAUSE: n.Ports[0].XOFF, Skips: int64(n.Counters["mcu_skips"]), Retries: int64(n.Counters["retries"])}
	if last.QueuePeak != nil {
		one.Queue = unit.Bytes(slices.Max(last.QueuePeak))
	}
	for _, s := range n.Stalls {
		if s.Direction == fabric.DirectionIn.String() {
			one.StallIn += unit.Time(sum(s.Bins))
		} else {
			one.StallOut += unit.Time(sum(s.Bins))
		}
	}
	return one
}

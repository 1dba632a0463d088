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

// entry returns the index of the commands entry that a connection's note belongs to.
// The lower half of the note's trace is the command's ID.
func (r *Recorder) entry(n *fabric.Note) int { return topology.CommandOf(r.streams, uint32(n.Trace)) }

// delivers returns the series that counts a Delivered note.
func (r *Recorder) delivers(n *fabric.Note) *Series {
	if n.Flow < topology.FirstConnection {
		return r.series(n.Flow)
	}
	i := r.entry(n)
	key := int(topology.FirstConnection) + i
	s := r.delivered[key]
	if s == nil {
		s = &Series{Name: r.s.Commands[i].Name, Bins: make([]int64, r.bins), Flow: key}
		r.delivered[key] = s
	}
	return s
}

// commands fills in the results of the commands and of their initiators.
func commands(s *topology.Scenario, nodes []*NodeResult, run *Run) {
	if len(s.Commands) == 0 {
		return
	}
	streams := s.Streams()
	spans := make([][]unit.Time, len(s.Commands))
	run.Commands = make([]Commands, len(s.Commands))
	for i, c := range s.Commands {
		run.Commands[i] = Commands{Name: c.Name, Verb: c.Verb, Commands: c.Count * len(c.From) * max(1, len(c.To)), Start: c.At}
	}
	for _, n := range nodes {
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
				for _, b := range d.Bins {
					run.Commands[i].Bytes += unit.Bytes(b)
				}
			}
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
	initiators(s, nodes, run)
}

// initiators lists the NICs that post commands, in scenario order.
func initiators(s *topology.Scenario, nodes []*NodeResult, run *Run) {
	posting := make([]bool, len(s.Nodes))
	for _, c := range s.Commands {
		for _, from := range c.From {
			posting[from] = posting[from] || !c.OfTarget()
		}
	}
	ports := s.PortMap()
	for i, n := range nodes {
		if !posting[i] {
			continue
		}
		last := ports[i][0]
		one := Initiator{
			Name: s.Nodes[i].Name, PAUSE: n.Ports[0].XOFF,
			Skips: int64(n.Counters["mcu_skips"]), Retries: int64(n.Counters["retries"]),
		}
		if peaks := nodes[last.Peer].Ports[last.PeerPort].QueuePeak; peaks != nil {
			one.Queue = unit.Bytes(slices.Max(peaks))
		}
		one.StallIn, one.StallOut = stalls(n.Stalls)
		run.Initiators = append(run.Initiators, one)
	}
}

// stalls sums the time that a NIC waited for tokens, per direction.
func stalls(series []ShaperSeries) (in, out unit.Time) {
	for _, s := range series {
		sum := unit.Time(0)
		for _, v := range s.Bins {
			sum += unit.Time(v)
		}
		if s.Direction == fabric.DirectionIn.String() {
			in += sum
		} else {
			out += sum
		}
	}
	return in, out
}

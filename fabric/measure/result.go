package measure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Schema identifies the format of results.json.
const Schema = "rackfab/results/v1"

// Results is the content of results.json: one scenario, one run per scheme.
type Results struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Bus      string `json:"bus"`
	Cores    int    `json:"cores,omitempty"`   // in memory: cores available to all runs together
	Workers  int    `json:"workers,omitempty"` // that ran the nodes, over NATS, or took whole runs in their memory
	Runs     []*Run `json:"runs"`
	// Repeats are the results over the variants of the scenario; Runs are variant 0. It
	// is nil without variants.
	Repeats *Repeats `json:"repeats,omitempty"`
}

// Run is the result of one scheme.
type Run struct {
	Scheme     string    `json:"scheme"`
	Digest     string    `json:"digest"` // 16 hexadecimal digits
	FabricTime unit.Time `json:"fabric_time_ps"`
	Bin        unit.Time `json:"bin_ps"` // of the series
	Wall       float64   `json:"wall_s"`
	CPU        float64   `json:"cpu_s"`
	Cores      int       `json:"cores,omitempty"`  // that ran most of it; over NATS at most one per process, 0 if unknown
	Groups     int       `json:"groups,omitempty"` // groups of nodes, each run by one core at a time
	FrameHops  int64     `json:"frame_hops"`
	Envelopes  int64     `json:"envelopes"`
	Processes  int       `json:"processes,omitempty"`  // that ran the nodes, a group each; 0 in memory
	Workers    int       `json:"workers,omitempty"`    // on which the processes ran; 0 for this machine, or a rack that was up
	Recoveries int       `json:"recoveries,omitempty"` // from the loss of processes: the run was executed again
	EnvelopeFaults
	// Drops counts the frames that switches and NICs dropped, and those lost with a
	// link that was cut. LinkLost and LinkDamaged count the frames lost to the error
	// rates of links.
	Drops       int64 `json:"drops"`
	LinkLost    int64 `json:"link_lost,omitempty"`
	LinkDamaged int64 `json:"link_damaged,omitempty"`
	// Replayed counts the frames that ports transmitted again on links with retry.
	Replayed    int64 `json:"link_replayed,omitempty"`
	Malformed   int64 `json:"malformed"`
	Retransmits int64 `json:"retransmits"`
	// RetransmittedBytes is the payload that senders sent again, TrimmedBytes the payload that
	// switches cut off TrimmedFrames packets. OutOfOrder is the largest distance of a received
	// packet from the expected one, in packets.
	RetransmittedBytes unit.Bytes `json:"retransmitted_bytes,omitempty"`
	TrimmedFrames      int64      `json:"trimmed_frames,omitempty"`
	TrimmedBytes       unit.Bytes `json:"trimmed_bytes,omitempty"`
	OutOfOrder         int64      `json:"out_of_order,omitempty"`
	Untracked          int64      `json:"untracked,omitempty"` // frames without room in a converter's flow table
	// Tree is the duration of the congestion trees of the bursts. PausedOutside is the
	// part of it in which PAUSE blocked a sender outside the bursts; see trees.
	Tree          unit.Time    `json:"tree_ps"`
	PausedOutside unit.Time    `json:"paused_outside_ps"`
	Loss          unit.Time    `json:"loss_ps"` // throughput dip
	Recovery      unit.Time    `json:"recovery_ps"`
	Credit        *Credit      `json:"credit,omitempty"`    // for schemes that grant credit
	Failure       *Outage      `json:"failure,omitempty"`   // if a link fails
	Parallel      []Parallel   `json:"parallel,omitempty"`  // use of parallel links
	Settled       *Settled     `json:"settled,omitempty"`   // of endless single flows alone
	Deadlocks     []Deadlock   `json:"deadlocks,omitempty"` // at the end of the run
	Pauses        []Pause      `json:"pauses"`
	Errors        []LinkErrors `json:"link_errors,omitempty"`
	Flows         []Flow       `json:"flows"`
	// Endless are the flows of bursts that send until the run ends or they are stopped.
	Endless     []Flow       `json:"endless_flows,omitempty"`
	Burst       Burst        `json:"burst"`
	Workloads   []Workload   `json:"workloads,omitempty"`
	Commands    []Commands   `json:"commands,omitempty"`
	Initiators  []Initiator  `json:"initiators,omitempty"`
	Programs    *Programs    `json:"programs,omitempty"` // if hosts have programs or take part in collectives
	Collectives []Collective `json:"collectives,omitempty"`
	// Series is not part of results.json; it is written to a file of its own.
	Series *RunSeries `json:"-"`
	Nodes  []Node     `json:"nodes"`
}

// Node is the part of one node in a run.
type Node struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"`
	FrameHops int64  `json:"frame_hops"`
	Envelopes int64  `json:"envelopes"`
	EnvelopeFaults
	MaxRSS  int64 `json:"max_rss_bytes"` // largest resident set of its process, 0 without a process of its own
	Program int64 `json:"program_bytes"` // part of MaxRSS: pages of the program's file, which all processes share
	// Counters are the node's nonzero counters at the end of the run; those of a NIC
	// use the names of the mlx5 driver.
	Counters map[string]uint64 `json:"counters,omitempty"`
	Ports    []Port            `json:"ports"`
}

// Pause describes how x paused y on link x->y. Links without a pause are left out.
type Pause struct {
	Link   string    `json:"link"`
	XOFF   int64     `json:"xoff"`      // PAUSE frames sent by x
	Paused unit.Time `json:"paused_ps"` // how long y was paused
}

// LinkErrors counts the frames, PFC frames included, that link x->y lost and damaged on
// their way to y. Directions without errors are left out.
type LinkErrors struct {
	Link    string `json:"link"`
	Lost    int64  `json:"lost"`
	Damaged int64  `json:"damaged"`
}

// Flow is one flow that is not part of a burst.
type Flow struct {
	Name    string     `json:"name"`
	From    string     `json:"from"`
	To      string     `json:"to"`
	Bytes   unit.Bytes `json:"bytes"` // payload delivered in order; in any order if the sender sprays
	Start   unit.Time  `json:"start_ps"`
	End     unit.Time  `json:"end_ps"`         // completion, or the end of the run
	Done    *bool      `json:"done,omitempty"` // whether the flow completed; nil for an endless flow
	Goodput unit.Rate  `json:"goodput_bps"`    // from Start to End
	// BurstGoodput is the goodput from the first burst's instant until the bursts'
	// flows have completed, 0 without a burst.
	BurstGoodput unit.Rate `json:"burst_goodput_bps"`
	// OutOfOrder is the largest distance of a received packet from the expected one, in packets.
	OutOfOrder int64 `json:"out_of_order,omitempty"`
}

// Unfinished reports whether the run ended before the flow, which is not endless.
func (f *Flow) Unfinished() bool { return f.Done != nil && !*f.Done }

// Burst summarizes the flows of all bursts.
type Burst struct {
	Flows     int       `json:"flows"`
	Completed int       `json:"completed"`
	P50       unit.Time `json:"fct_p50_ps"` // flow completion time, post to last ACK
	P99       unit.Time `json:"fct_p99_ps"`
	Start     unit.Time `json:"start_ps"` // of the first burst
	End       unit.Time `json:"end_ps"`   // completion of all flows, or end of the run
}

// Flow returns the single flow of that name, or an empty one if there is none.
func (r *Run) Flow(name string) *Flow {
	i := slices.IndexFunc(r.Flows, func(f Flow) bool { return f.Name == name })
	if i < 0 {
		return &Flow{}
	}
	return &r.Flows[i]
}

// single is Flow for the i-th single flow of the scenario, without a search.
func (r *Run) single(i int, name string) *Flow {
	if i < len(r.Flows) && r.Flows[i].Name == name {
		return &r.Flows[i]
	}
	return r.Flow(name)
}

// Merge combines the results of the nodes, which are in scenario order.
func Merge(s *topology.Scenario, nodes []*NodeResult) (*Run, error) {
	if len(nodes) != len(s.Nodes) {
		return nil, fmt.Errorf("measure: %d results for %d nodes", len(nodes), len(s.Nodes))
	}
	run := &Run{
		Scheme: s.Scheme, FabricTime: s.Duration, Bin: s.Bin, Series: &RunSeries{Bin: s.Bin},
		Pauses: []Pause{}, Flows: []Flow{},
	}
	s = begun(s, nodes)
	ports := s.PortMap()
	for i, n := range nodes {
		run.FrameHops += n.FrameHops
		run.Envelopes += n.Envelopes
		addFaults(&run.EnvelopeFaults, n.EnvelopeFaults)
		run.Drops += n.Drops
		run.Malformed += n.Malformed
		run.Retransmits += n.Retransmits
		run.Untracked += n.Untracked
		run.Replayed += int64(n.Counters["llr_replayed_frames"])
		run.CPU += n.CPU
		run.Nodes = append(run.Nodes, Node{
			Name: n.Node, Digest: fmt.Sprintf("%016x", n.Digest), FrameHops: n.FrameHops,
			Envelopes: n.Envelopes, EnvelopeFaults: n.EnvelopeFaults,
			Counters: n.Counters, Ports: counted(s, ports[i], n),
		})
		run.Series.Goodput = append(run.Series.Goodput, n.Delivered...)
		run.Series.Rates = append(run.Series.Rates, n.Rates...)
		run.Series.Sent = append(run.Series.Sent, n.Sent...)
		run.Series.Granted = append(run.Series.Granted, n.Granted...)
		run.Series.Wasted = append(run.Series.Wasted, n.Wasted...)
		run.Series.Tokens = append(run.Series.Tokens, n.Tokens...)
		run.Series.Stalls = append(run.Series.Stalls, n.Stalls...)
	}
	run.Digest = fmt.Sprintf("%016x", digest(nodes))
	for i, l := range s.Links {
		a, b, ways := &nodes[l.A].Ports[l.APort], &nodes[l.B].Ports[l.BPort], s.DirectionNames(i)
		run.direction(ways[topology.Forth], a, b)
		run.direction(ways[topology.Back], b, a)
	}
	ends := completions(nodes)
	run.Deadlocks = Deadlocks(s, s.Duration, func(node int) []fabric.Stuck { return nodes[node].Stuck })
	run.Credit = creditOf(nodes)
	run.Failure, run.Parallel = failure(s, run.Series.Goodput), parallels(s, nodes, ports)
	run.Settled = settled(s, run.Series)
	flows(s, nodes, ends, run)
	run.losses(s, nodes)
	workloads(s, ends, run)
	commands(s, nodes, ports, run)
	run.Programs, run.Collectives = programs(s, nodes), collectives(s, nodes)
	shares := used(s, run)
	run.Loss, run.Recovery = dip(s, shares), recovery(s, burstStart(s), shares)
	run.Tree, run.PausedOutside = trees(outside(s, nodes), intervals(s, ends, shares))
	return run, nil
}

// digest returns the hash over the nodes' digests, in the order of the nodes' names.
func digest(nodes []*NodeResult) uint64 {
	byName := slices.Clone(nodes)
	slices.SortFunc(byName, func(a, b *NodeResult) int { return strings.Compare(a.Node, b.Node) })
	all := make([]uint64, len(byName))
	for i, n := range byName {
		all[i] = n.Digest
	}
	return node.Combine(all)
}

// direction adds the pauses, the errors and the queue of link x->y, if any. from is the
// port of x, to that of y.
func (r *Run) direction(name string, from, to *PortResult) {
	if from.XOFF > 0 {
		r.Pauses = append(r.Pauses, Pause{name, from.XOFF, to.Paused})
		r.Series.Pauses = append(r.Series.Pauses, PauseSeries{name, from.Bins, from.Fine})
	}
	if to.Lost+to.Damaged > 0 {
		r.Errors = append(r.Errors, LinkErrors{name, to.Lost, to.Damaged})
		r.LinkLost += to.Lost
		r.LinkDamaged += to.Damaged
	}
	if from.QueuePeak != nil {
		r.Series.Queues = append(r.Series.Queues, QueueSeries{name, from.QueuePeak, from.QueueEnd})
	}
}

// Package measure turns notes into the figures of a report: goodput, pauses, the
// congestion tree, the throughput dip, completion times. A Recorder observes one node;
// Merge combines the nodes of a run. The package knows the meaning of each figure, but
// not how the fabric works.
package measure

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// NodeResult is the measurement of one node. All instants and durations are in
// picoseconds, all sizes in bytes.
type NodeResult struct {
	Node      string `json:"node"`
	Digest    uint64 `json:"digest,string"`
	FrameHops int64  `json:"frame_hops"`
	Envelopes int64  `json:"envelopes"`
	EnvelopeFaults
	Drops       int64          `json:"drops"`
	Malformed   int64          `json:"malformed"`
	Retransmits int64          `json:"retransmits"`
	Untracked   int64          `json:"untracked,omitempty"` // frames without room in a converter's flow table
	CPU         float64        `json:"cpu_s"`
	Ports       []PortResult   `json:"ports"`
	Delivered   []Series       `json:"delivered,omitempty"` // payload bytes per bin, in order, per flow or burst
	Rates       []RateSeries   `json:"rates,omitempty"`     // CC rate limit of the flows that start here
	Sent        []Series       `json:"sent,omitempty"`      // bytes sent by the same flows on the link, overhead included
	Granted     []Series       `json:"granted,omitempty"`   // credit per bin, from the receiver here to each sender
	Wasted      []Series       `json:"wasted,omitempty"`    // credit per bin that the sender here could not spend
	Tokens      []ShaperSeries `json:"tokens,omitempty"`    // in the head buckets of the NIC, at the end of each bin
	Stalls      []ShaperSeries `json:"stalls,omitempty"`    // time that the NIC's classes waited for tokens alone, per bin
	Lost        unit.Bytes     `json:"lost,omitempty"`      // credit that the senders here lost
	Indicated   int64          `json:"indicated,omitempty"` // data packets received with the excess signal
	Completed   []Completion   `json:"completed,omitempty"`
	Begun       []Begin        `json:"begun,omitempty"`   // flows that steps of the host's program have begun
	Early       []Early        `json:"early,omitempty"`   // flows of which packets arrived here out of order
	Endless     []FlowBytes    `json:"endless,omitempty"` // payload delivered here, of endless flows of bursts
	Done        []Done         `json:"done,omitempty"`    // completed commands of this node
	Failed      []Failure      `json:"failed,omitempty"`  // failed and refused commands of this node
	Steps       []StepTime     `json:"steps,omitempty"`   // by step of the host's program; empty if none was done
	Paused      []Span         `json:"held,omitempty"`    // times in which PAUSE blocked a class of this NIC, in order; empty for a switch
	Stuck       []fabric.Stuck `json:"stuck,omitempty"`   // buffers of a switch at the end of the run
	Notices     map[string]int `json:"notices,omitempty"`
	// Counters are the machine's nonzero counters at the end of the run.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// PortResult is the measurement of one port.
type PortResult struct {
	XOFF   int64     `json:"xoff"`         // PAUSE frames sent to the peer
	XON    int64     `json:"xon"`          // RESUME frames sent to the peer
	Paused unit.Time `json:"paused_ps"`    // how long the peer paused this port
	Bins   []int64   `json:"xoff_per_bin"` // PAUSE frames sent, per bin; empty if none was sent
	// Fine counts the same per PauseBin. It is empty if bins are no longer than
	// PauseBin, or if no PAUSE frame was sent.
	Fine []int64 `json:"xoff_fine,omitempty"`
	// QueuePeak and QueueEnd are the egress queue length in bytes: the maximum in each
	// bin, and the length at its end. They are empty if nothing was ever queued.
	QueuePeak []int64 `json:"queue_peak,omitempty"`
	QueueEnd  []int64 `json:"queue_end,omitempty"`
	Classes   []Class `json:"classes,omitempty"` // classes that were used
	// Lost and Damaged count the frames from the peer that the link lost or damaged.
	Lost    int64 `json:"lost,omitempty"`
	Damaged int64 `json:"damaged,omitempty"`
}

// Completion is a flow whose last byte was acknowledged.
type Completion struct {
	Flow  fabric.FlowID `json:"flow"`
	Start unit.Time     `json:"start_ps"`
	End   unit.Time     `json:"end_ps"`
}

// Begin is the instant at which a flow began.
type Begin struct {
	Flow fabric.FlowID `json:"flow"`
	At   unit.Time     `json:"at_ps"`
}

// Span is an interval of fabric time.
type Span struct {
	From unit.Time `json:"from_ps"`
	To   unit.Time `json:"to_ps"`
}

// Recorder observes the notes of one node.
type Recorder struct {
	s         *topology.Scenario
	streams   []topology.Stream // nil until a command delivers
	ends      []topology.End    // by port
	result    NodeResult
	node      int // index in the scenario
	bins      int
	paused    []fabric.PauseClock // by port
	delivered map[int]*Series     // by Series.Flow
	started   map[fabric.FlowID]*sending
	early     map[fabric.FlowID]int // index in result.Early; nil if it is empty
}

// sending has the series of a single flow that starts at this node.
type sending struct {
	rates RateSeries
	sent  Series
}

// NewRecorder returns a recorder for the scenario's node with that index, whose ports
// are ends.
func NewRecorder(s *topology.Scenario, node int, ends []topology.End) *Recorder {
	bins := int((s.Duration + s.Bin - 1) / s.Bin)
	r := &Recorder{s: s, ends: ends, node: node, bins: bins, delivered: map[int]*Series{}, started: map[fabric.FlowID]*sending{}}
	r.result.Node, r.result.Notices = s.Nodes[node].Name, map[string]int{}
	r.result.Ports, r.paused = make([]PortResult, len(ends)), make([]fabric.PauseClock, len(ends))
	return r
}

// Extend replaces the scenario by one with more changes.
func (r *Recorder) Extend(s *topology.Scenario) { r.s, r.streams = s, nil }

// Observe adds notes, in the order of their occurrence.
func (r *Recorder) Observe(notes []fabric.Note) {
	for i := range notes {
		if n := &notes[i]; !r.sampled(n) {
			r.event(n)
			if !n.Kind.PerFrame() {
				r.result.Notices[n.Kind.String()]++
			}
		}
	}
}

// sampled handles notes that feed only a time series. It reports whether n is such a
// note.
func (r *Recorder) sampled(n *fabric.Note) bool {
	switch n.Kind {
	case fabric.Delivered:
		r.endless(n)
		r.deliver(n)
	case fabric.QueueSampled:
		r.queue(n)
	case fabric.CreditSampled:
		r.credited(n)
	case fabric.TokensSampled:
		r.tokens(n)
	case fabric.StallSampled:
		r.stalled(n)
	case fabric.SentSampled:
		if f := r.started[n.Flow]; f != nil {
			f.sent.Bins[r.bin(n.At)] += int64(n.Bytes())
		}
	case fabric.PortSampled: // covered by the counters at the end of the run
	default:
		return false
	}
	return true
}

// event handles the other notes.
func (r *Recorder) event(n *fabric.Note) {
	switch n.Kind {
	case fabric.CommandDone:
		r.result.Done = append(r.result.Done, Done{n.Command(), n.Start(), n.At})
	case fabric.ListSearched:
		r.result.Done = append(r.result.Done, Done{n.Command(), n.At, n.At})
	case fabric.StepDone:
		r.step(n)
	case fabric.CommandFailed, fabric.CommandRefused:
		r.result.Failed = append(r.result.Failed, Failure{n.Command(), r.result.Node, n.At, n.Kind == fabric.CommandRefused})
	case fabric.CreditWasted:
		r.pair(&r.result.Wasted, n)
		r.result.Lost += n.Lost()
	case fabric.PauseSent:
		r.pauseSent(n)
	case fabric.ResumeSent:
		r.result.Ports[n.Port].XON++
	case fabric.Paused, fabric.Resumed:
		r.pause(n)
	case fabric.FlowStarted:
		r.start(n)
	case fabric.RateChanged:
		if f := r.started[n.Flow]; f != nil {
			f.rates.fill(f.rates.Bins, r.bin(n.At))
			f.rates.value = n.Rate()
		}
	case fabric.Dropped, fabric.Erred:
		r.dropped(n)
	case fabric.Malformed:
		r.result.Malformed++
	case fabric.Untracked:
		r.result.Untracked++
	case fabric.OutOfSequence:
		r.outOfSequence(n)
	case fabric.Retransmitted:
		r.result.Retransmits += n.Packets()
	case fabric.Completed:
		r.result.Completed = append(r.result.Completed, Completion{n.Flow, n.Start(), n.At})
	default:
	}
}

// dropped counts a frame that was dropped, or that a link with retry lost or damaged.
func (r *Recorder) dropped(n *fabric.Note) {
	switch p := &r.result.Ports[n.Port]; n.Reason() {
	case fabric.DropLinkLoss:
		p.Lost++
	case fabric.DropBadFCS:
		p.Damaged++
	default:
		r.result.Drops++
	}
}

// bin returns the index of the bin that contains t, or the last bin for later instants.
func (r *Recorder) bin(t unit.Time) int { return min(int(t/r.s.Bin), r.bins-1) }

// deliver counts the payload of a flow, of its burst, or of its commands.
func (r *Recorder) deliver(n *fabric.Note) {
	key, name := int(n.Flow), ""
	if n.Flow >= topology.FirstConnection {
		if r.streams == nil {
			r.streams = r.s.Streams()
		}
		entry := topology.CommandOf(r.streams, uint32(n.Trace)) // the lower half of the trace is the command's ID
		key, name = int(topology.FirstConnection)+entry, r.s.Commands[entry].Name
	} else if f := &r.s.Flows[n.Flow]; f.Burst >= 0 {
		key, name = -1-f.Burst, r.s.Bursts[f.Burst].Name
	} else {
		name = f.Name
	}
	s := r.delivered[key]
	if s == nil {
		s = &Series{Name: name, Bins: make([]int64, r.bins), Flow: key}
		r.delivered[key] = s
	}
	s.Bins[r.bin(n.At)] += int64(n.Bytes())
}

// pauseSent counts a PAUSE frame, in short bins too if the scenario's are longer.
func (r *Recorder) pauseSent(n *fabric.Note) {
	p := &r.result.Ports[n.Port]
	p.XOFF++
	if p.Bins == nil {
		p.Bins = make([]int64, r.bins)
	}
	p.Bins[r.bin(n.At)]++
	if r.s.Bin <= PauseBin {
		return
	}
	if p.Fine == nil {
		p.Fine = make([]int64, (r.s.Duration+PauseBin-1)/PauseBin)
	}
	p.Fine[min(int(n.At/PauseBin), len(p.Fine)-1)]++
}

// pause records when the port of a NIC is paused.
func (r *Recorder) pause(n *fabric.Note) {
	switch changed := r.paused[n.Port].Observe(n); {
	case !changed || r.s.Nodes[r.node].Kind != topology.NIC:
	case n.Kind == fabric.Paused:
		r.result.Paused = append(r.result.Paused, Span{From: n.At, To: r.s.Duration}) // until it is resumed
	default:
		r.result.Paused[len(r.result.Paused)-1].To = n.At
	}
}

func (r *Recorder) queue(n *fabric.Note) {
	p := &r.result.Ports[n.Port]
	if p.QueuePeak == nil {
		p.QueuePeak, p.QueueEnd = make([]int64, r.bins), make([]int64, r.bins)
	}
	p.QueuePeak[r.bin(n.At)], p.QueueEnd[r.bin(n.At)] = int64(n.Peak()), int64(n.Queue())
}

// start opens the rate and TX series of a single flow. Both are 0 before. It records when a step begins a
// flow.
func (r *Recorder) start(n *fabric.Note) {
	f := &r.s.Flows[n.Flow]
	if f.Step {
		r.result.Begun = append(r.result.Begun, Begin{n.Flow, n.At})
	}
	if f.Burst >= 0 {
		return
	}
	one := &sending{RateSeries{Name: f.Name, Bins: make([]unit.Rate, r.bins)}, Series{Name: f.Name, Bins: make([]int64, r.bins), Flow: int(n.Flow)}}
	one.rates.fill(one.rates.Bins, r.bin(n.At))
	one.rates.value = cmp.Or(f.Initial, r.s.Links[r.ends[0].Link].Rate) // of the sender's link
	r.started[n.Flow] = one
}

// Result completes the measurement at the end of the run and returns it. It lists series
// in the order of the scenario.
func (r *Recorder) Result() *NodeResult {
	for i := range r.result.Ports {
		r.result.Ports[i].Paused = r.paused[i].Total(r.s.Duration)
	}
	for _, id := range slices.Sorted(maps.Keys(r.started)) {
		f := r.started[id]
		f.rates.fill(f.rates.Bins, r.bins)
		r.result.Rates, r.result.Sent = append(r.result.Rates, f.rates), append(r.result.Sent, f.sent)
	}
	for i := range r.result.Tokens {
		s := &r.result.Tokens[i]
		s.fill(s.Bins, r.bins)
	}
	for _, s := range slices.SortedFunc(maps.Values(r.delivered), func(a, b *Series) int { return cmp.Compare(a.order(), b.order()) }) {
		r.result.Delivered = append(r.result.Delivered, *s)
	}
	clear(r.delivered)
	out := r.result
	return &out
}

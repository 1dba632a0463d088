// Package measure turns notes into the figures of a report: goodput, pauses, the
// congestion tree, the throughput dip, completion times. A Recorder observes one node;
// Merge combines the nodes of a run. The package knows the meaning of each figure, but
// not how the fabric works.
package measure

import (
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
	Endless     []FlowBytes    `json:"endless,omitempty"` // payload delivered here, in order, of endless flows of bursts
	Done        []Done         `json:"done,omitempty"`    // completed commands of this node
	Failed      []Failure      `json:"failed,omitempty"`  // failed and refused commands of this node
	Paused      []Span         `json:"held,omitempty"`    // times in which PAUSE blocked a class of this NIC, in order; empty for a switch
	Notices     map[string]int `json:"notices,omitempty"`
	// Counters are the machine's nonzero counters at the end of the run.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// PortResult is the measurement of one port.
type PortResult struct {
	XOFF   int64     `json:"xoff"`         // PAUSE frames sent to the peer
	XON    int64     `json:"xon"`          // RESUME frames sent to the peer
	Paused unit.Time `json:"paused_ps"`    // how long the peer paused this port
	Bins   []int64   `json:"xoff_per_bin"` // PAUSE frames sent, per bin
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

// Span is an interval of fabric time.
type Span struct {
	From unit.Time `json:"from_ps"`
	To   unit.Time `json:"to_ps"`
}

// Recorder observes the notes of one node.
type Recorder struct {
	s         *topology.Scenario
	streams   []topology.Stream
	result    NodeResult
	node      int // index in the scenario
	bins      int
	paused    []fabric.PauseClock // by port
	delivered map[int]*Series     // by flow index, or -1-burst
	rates     map[fabric.FlowID]*RateSeries
	sent      map[fabric.FlowID]*Series
}

// NewRecorder returns a recorder for the scenario's node with that index.
func NewRecorder(s *topology.Scenario, node int) *Recorder {
	bins := int((s.Duration + s.Bin - 1) / s.Bin)
	r := &Recorder{s: s, streams: s.Streams(), node: node, bins: bins, delivered: map[int]*Series{}}
	r.rates, r.sent = map[fabric.FlowID]*RateSeries{}, map[fabric.FlowID]*Series{}
	r.result.Node = s.Nodes[node].Name
	r.result.Notices = map[string]int{}
	for _, l := range s.Links {
		for _, end := range []int{l.A, l.B} {
			if end == node {
				r.result.Ports = append(r.result.Ports, PortResult{Bins: make([]int64, bins)})
				r.paused = append(r.paused, fabric.PauseClock{})
			}
		}
	}
	return r
}

// Extend replaces the scenario by one with more changes.
func (r *Recorder) Extend(s *topology.Scenario) { r.s, r.streams = s, s.Streams() }

// Observe adds notes, in the order of their occurrence.
func (r *Recorder) Observe(notes []fabric.Note) {
	for i := range notes {
		r.observe(&notes[i])
	}
}

// sampled handles notes that feed only a time series. It reports whether n is such a
// note.
func (r *Recorder) sampled(n *fabric.Note) bool {
	switch n.Kind {
	case fabric.Delivered:
		r.endless(n)
		s := r.delivers(n)
		s.Bins[r.bin(n.At)] += int64(n.Bytes())
	case fabric.QueueSampled:
		r.queue(n)
	case fabric.CreditSampled:
		r.credited(n)
	case fabric.TokensSampled:
		r.tokens(n)
	case fabric.StallSampled:
		r.stalled(n)
	case fabric.SentSampled:
		if s := r.sent[n.Flow]; s != nil {
			s.Bins[r.bin(n.At)] += int64(n.Bytes())
		}
	case fabric.PortSampled: // covered by the counters at the end of the run
	default:
		return false
	}
	return true
}

func (r *Recorder) observe(n *fabric.Note) {
	if r.sampled(n) {
		return
	}
	switch n.Kind {
	case fabric.CommandDone:
		r.result.Done = append(r.result.Done, Done{n.Command(), n.Start(), n.At})
	case fabric.ListSearched:
		r.result.Done = append(r.result.Done, Done{n.Command(), n.At, n.At})
	case fabric.CommandFailed, fabric.CommandRefused:
		r.result.Failed = append(r.result.Failed, Failure{n.Command(), r.result.Node, n.At, n.Kind == fabric.CommandRefused})
	case fabric.CreditWasted:
		r.pair(&r.result.Wasted, n)
		r.result.Lost += n.Lost()
	case fabric.PauseSent:
		p := &r.result.Ports[n.Port]
		p.XOFF++
		p.Bins[r.bin(n.At)]++
		r.fine(p, n.At)
	case fabric.ResumeSent:
		r.result.Ports[n.Port].XON++
	case fabric.Paused, fabric.Resumed:
		r.pause(n)
	case fabric.FlowStarted:
		r.started(n)
	case fabric.RateChanged:
		r.rate(n)
	case fabric.Dropped:
		r.dropped(n)
	case fabric.Malformed:
		r.result.Malformed++
	case fabric.Untracked:
		r.result.Untracked++
	case fabric.Retransmitted:
		r.result.Retransmits += n.Packets()
	case fabric.Completed:
		r.result.Completed = append(r.result.Completed, Completion{n.Flow, n.Start(), n.At})
	default:
	}
	if !n.Kind.PerFrame() {
		r.result.Notices[n.Kind.String()]++
	}
}

// dropped counts a dropped frame by its drop reason.
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

func (r *Recorder) series(flow fabric.FlowID) *Series {
	key, name := int(flow), r.s.Flows[flow].Name
	if b := r.s.Flows[flow].Burst; b >= 0 {
		key, name = -1-b, r.s.Bursts[b].Name
	}
	s := r.delivered[key]
	if s == nil {
		s = &Series{Name: name, Bins: make([]int64, r.bins), Flow: key}
		r.delivered[key] = s
	}
	return s
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

// started opens the rate and TX series of a single flow. Both are 0 before.
func (r *Recorder) started(n *fabric.Note) {
	f := r.s.Flows[n.Flow]
	if f.Burst >= 0 {
		return
	}
	s := &RateSeries{Name: f.Name, Bins: make([]unit.Rate, r.bins)}
	s.fill(r.bin(n.At))
	s.rate = f.Initial
	for _, l := range r.s.Links {
		if s.rate == 0 && (l.A == f.From || l.B == f.From) {
			s.rate = l.Rate
		}
	}
	r.rates[n.Flow] = s
	r.sent[n.Flow] = &Series{Name: f.Name, Bins: make([]int64, r.bins), Flow: int(n.Flow)}
}

func (r *Recorder) rate(n *fabric.Note) {
	if s := r.rates[n.Flow]; s != nil {
		s.fill(r.bin(n.At))
		s.rate = n.Rate()
	}
}

// Result completes the measurement at the end of the run and returns it.
func (r *Recorder) Result() *NodeResult {
	for i := range r.result.Ports {
		r.result.Ports[i].Paused = r.paused[i].Total(r.s.Duration)
	}
	for i := range r.s.Flows {
		id := fabric.FlowID(i)
		if s := r.rates[id]; s != nil {
			s.fill(r.bins)
			r.result.Rates = append(r.result.Rates, *s)
			r.result.Sent = append(r.result.Sent, *r.sent[id])
		}
	}
	for i := range r.result.Tokens {
		r.result.Tokens[i].fill(r.bins)
	}
	r.collectDelivered()
	out := r.result
	return &out
}

// collectDelivered lists the series in scenario order.
func (r *Recorder) collectDelivered() {
	for i := range r.s.Flows {
		if s := r.delivered[i]; s != nil {
			r.result.Delivered = append(r.result.Delivered, *s)
		}
	}
	for b := range r.s.Bursts {
		if s := r.delivered[-1-b]; s != nil {
			r.result.Delivered = append(r.result.Delivered, *s)
		}
	}
	for i := range r.s.Commands {
		if s := r.delivered[int(topology.FirstConnection)+i]; s != nil {
			r.result.Delivered = append(r.result.Delivered, *s)
		}
	}
	clear(r.delivered)
}

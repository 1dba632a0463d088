package nic

import (
	"iter"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Stats is a snapshot of a NIC. Counters count from the start of the run. Counters with
// the mlx5 driver's names have its meaning (see Counters).
type Stats struct {
	TxPackets, TxBytes uint64 // bytes of frame.Len
	RxPackets, RxBytes uint64
	// Losses are the losses of the link. RxPackets does not include them.
	fabric.Losses
	Retry *llr.Stats // nil without link-layer retry
	qp.EventCounters

	control.Stats
	FrozenDrops uint64     // frames that arrived while the NIC was frozen
	IntakeDrops uint64     // frames dropped because the receive buffer was full: RxDiscards of all classes
	IntakePeak  unit.Bytes // peak occupancy of the receive buffer
	Priorities  [fabric.Priorities]PriorityStats

	// Senders and Receivers are in the order in which their flows were added, without the dropped ones,
	// for which Ended counts.
	Senders   []qp.SenderStats
	Receivers []qp.ReceiverStats
	Ended     qp.EndedStats
	Frozen    bool
	LinkDown  bool
	Engine    qp.EngineStats // zero without connections

	Translation rx.TranslationStats // of received data
	Probing     bool                // senders may send RTT probes
	Spreading   bool                // flows have an entropy per packet
}

// PriorityStats counts the packets and pauses of one traffic class. Its packets exclude
// frames without a DSCP (PFC and CNMs).
type PriorityStats struct {
	TxPackets, TxBytes uint64
	RxPackets, RxBytes uint64
	rx.IntakeStats
	rx.PauseStats
	Held bool
}

// Stats returns a snapshot that shares no memory with the NIC.
func (n *NIC) Stats() Stats {
	snapshot := n.stats
	snapshot.Frozen, snapshot.LinkDown = n.frozen, n.cable.Down
	snapshot.Losses, snapshot.Stats = n.cable.Losses(), n.qps.Control.Stats
	if n.retry != nil {
		now := n.retry.Stats()
		snapshot.Retry = &now
	}
	snapshot.IntakePeak, snapshot.Translation = n.intake.Peak(), n.intake.Translations()
	for class := range fabric.Priority(fabric.Priorities) {
		p := &snapshot.Priorities[class]
		p.IntakeStats, p.PauseStats, p.Held = n.intake.Stats(class), n.pauses.Stats(class), n.pauses.Has(class)
		snapshot.IntakeDrops += p.RxDiscards
	}
	snapshot.Senders, snapshot.Receivers = make([]qp.SenderStats, len(n.qps.Senders)), make([]qp.ReceiverStats, len(n.qps.Receivers))
	for i := range n.qps.Senders {
		snapshot.Senders[i] = n.qps.SenderStats(i)
	}
	for i := range n.qps.Receivers {
		snapshot.Receivers[i] = n.qps.Receivers[i].Stats()
	}
	snapshot.Ended = n.qps.Ended
	snapshot.Engine = n.qps.Engine.Stats(n.now)
	snapshot.Probing = n.cfg.Probe > 0
	snapshot.Spreading = n.cfg.Spreads()
	return snapshot
}

// Counters returns the current counters, see Stats.Counters.
func (n *NIC) Counters() iter.Seq2[string, uint64] {
	s := n.Stats()
	return s.Counters()
}

// retransmitted returns the total of RetransmittedPackets over all senders.
func (s *Stats) retransmitted() uint64 {
	sum := s.Ended.RetransmittedPackets
	for i := range s.Senders {
		sum += s.Senders[i].RetransmittedPackets
	}
	return sum
}

// counters yields the counters of a class by their names in the mlx5 driver, which counts RESUME frames
// received as PAUSE frames. It returns false if yield did.
func (p *PriorityStats) counters(class int, yield func(string, uint64) bool) bool {
	rx, tx := "rx_prio"+strconv.Itoa(class), "tx_prio"+strconv.Itoa(class)
	return yield(tx+"_packets", p.TxPackets) && yield(tx+"_bytes", p.TxBytes) &&
		yield(rx+"_packets", p.RxPackets) && yield(rx+"_bytes", p.RxBytes) && yield(rx+"_discards", p.RxDiscards) &&
		yield(tx+"_pause", p.TxPause) && yield(rx+"_pause", p.RxPause+p.RxResume) &&
		yield(rx+"_pause_duration", uint64(p.RxPauseDuration/unit.Microsecond)) &&
		yield(rx+"_pause_transition", p.RxPauseTransition)
}

// probes yields the counters of RTT probes. It returns false if yield did.
func (s *Stats) probes(yield func(string, uint64) bool) bool {
	return yield("tx_probes", s.TxProbes) && yield("rx_probes", s.RxProbes) &&
		yield("tx_probe_responses", s.TxProbeResponses) && yield("rx_probe_responses", s.RxProbeResponses)
}

// entropies yields the counters of entropies, over all senders. It returns false if yield did.
func (s *Stats) entropies(yield func(string, uint64) bool) bool {
	var sum entropy.Counts
	for i := range s.Senders {
		sum.Add(s.Senders[i].Entropy)
	}
	return yield("entropies_skipped", sum.Skipped) && yield("entropies_recycled", sum.Recycled) && yield("entropy_freezes", sum.Frozen)
}

// ClassCounters returns the current onsets of PAUSE, see Stats.ClassCounters.
func (n *NIC) ClassCounters() iter.Seq2[fabric.Port, fabric.ClassCounters] {
	s := n.Stats()
	return s.ClassCounters()
}

// ClassCounters returns the onset of PAUSE for each class of the port that was paused or
// sent PAUSE. Their counters are among those of the NIC.
func (s *Stats) ClassCounters() iter.Seq2[fabric.Port, fabric.ClassCounters] {
	return func(yield func(fabric.Port, fabric.ClassCounters) bool) {
		for class := range s.Priorities {
			p := &s.Priorities[class]
			onset := fabric.Onset{PauseSent: p.PauseSent, PauseReceived: p.PauseReceived}
			if onset != (fabric.Onset{}) && !yield(0, fabric.ClassCounters{Class: fabric.Priority(class), Onset: onset, Counters: none}) {
				return
			}
		}
	}
}

// none is an empty sequence of counters.
func none(func(string, uint64) bool) {}

// Counters returns the counters with the names and units of the mlx5 driver (pause
// durations are in microseconds), always in the same order. Counters that the driver does
// not have use names of rackfab: ACKs, NAKs sent, retransmitted packets and their payload, trimmed packets, malformed frames,
// the peak of the receive buffer, lookups of the address translation (if there is one), RTT
// probes and their responses (if the NIC sends any), entropies that flows skipped, reused and
// froze (if each packet has one of its own),
// and frames lost on the link, at a link that is down, at
// a frozen NIC or in a full control queue.
func (s *Stats) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, c := range []struct {
			name  string
			value uint64
		}{
			{"tx_packets_phy", s.TxPackets},
			{"tx_bytes_phy", s.TxBytes},
			{"rx_packets_phy", s.RxPackets},
			{"rx_bytes_phy", s.RxBytes},
			{"rx_discards_phy", s.IntakeDrops},
			{"rx_buffer_peak_bytes", uint64(s.IntakePeak)},
			{"rx_crc_errors_phy", s.DamagedFrames},
			{"link_loss_frames", s.LostFrames},
			{"lost_frames", s.CutFrames + s.FrozenDrops},
			{"malformed_frames", s.Malformed},
			{"control_queue_drops", s.ControlQueueDrops},
			{"tx_acks", s.TxACKs},
			{"rx_acks", s.RxACKs},
			{"tx_naks", s.TxNAKs},
			{"retransmitted_packets", s.retransmitted()},
			{"retransmitted_bytes", s.RetransmittedBytes},
			{"np_cnp_sent", s.NPCNPSent},
			{"np_ecn_marked_roce_packets", s.NPECNMarkedRoCEPackets},
			{"rp_cnp_handled", s.RPCNPHandled},
			{"rp_cnp_ignored", s.RPCNPIgnored},
			{"out_of_sequence", s.OutOfSequence},
			{"duplicate_request", s.DuplicateRequest},
			{"packet_seq_err", s.PacketSeqErr},
			{"rx_trimmed_packets", s.RxTrimmed},
			{"local_ack_timeout_err", s.LocalAckTimeoutErr},
		} {
			if !yield(c.name, c.value) {
				return
			}
		}
		if t := &s.Translation; t.On && (!yield("atu_cache_hits", t.Hits) || !yield("atu_cache_misses", t.Misses)) {
			return
		}
		if s.Probing && !s.probes(yield) || s.Spreading && !s.entropies(yield) {
			return
		}
		if !s.Retry.Each("", yield) {
			return
		}
		for class := range s.Priorities {
			if !s.Priorities[class].counters(class, yield) {
				return
			}
		}
		for name, value := range s.Engine.Counters() {
			if !yield(name, value) {
				return
			}
		}
	}
}

// Depth returns the bytes queued for transmission and the bytes in the receive buffer.
// queued is always 0, because a NIC builds a frame only when it can send it.
func (n *NIC) Depth(fabric.Port) (queued, buffered unit.Bytes) {
	return 0, n.intake.Total()
}

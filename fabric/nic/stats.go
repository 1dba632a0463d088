package nic

import (
	"iter"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Stats is a snapshot of a NIC. Counters count from the start of the run; those
// that operators know from the mlx5 driver keep its meaning (see Counters).
type Stats struct {
	TxPackets, TxBytes uint64 // bytes of frame.Len
	RxPackets, RxBytes uint64
	// Losses are those of the link; RxPackets counts none of them.
	fabric.Losses

	FrozenDrops            uint64 // frames that came in while the NIC was frozen
	Malformed              uint64 // frames discarded because no rule fits them
	ControlQueueDrops      uint64
	TxACKs, RxACKs         uint64 // on the wire, those of UET among them
	TxNAKs                 uint64
	IntakeDrops            uint64     // frames that found no room in the receive buffer
	IntakePeak             unit.Bytes // the most that it held
	NPCNPSent              uint64     // CNPs made by the notification points
	NPECNMarkedRoCEPackets uint64     // data packets that came in with CE
	RPCNPHandled           uint64
	RPCNPIgnored           uint64 // CNPs for flows that are not sending
	CNMHandled             uint64
	CNMIgnored             uint64 // CNMs for flows that are not sending, and for ACKs
	OutOfSequence          uint64 // data packets past a gap
	DuplicateRequest       uint64 // data packets that had come before
	PacketSeqErr           uint64 // NAKs received
	LocalAckTimeoutErr     uint64 // expiries of the retransmission timer
	Priorities             [fabric.Priorities]PriorityStats

	Senders   []SenderStats   // in the order of Config.Flows
	Receivers []ReceiverStats // in the order of Config.Flows
	Frozen    bool
	LinkDown  bool
	Engine    EngineStats // zero without connections
}

// PriorityStats counts the packets and pauses of one traffic class. Frames without a
// DSCP, PFC and CNMs, are not among its packets.
type PriorityStats struct {
	TxPackets, TxBytes uint64
	RxPackets, RxBytes uint64
	RxDiscards         uint64    // packets that found no room in the receive buffer
	TxPause            uint64    // PAUSE frames sent that named the class
	RxPause            uint64    // PFC frames that named the class, XON among them
	RxPauseTransition  uint64    // times that the class went from sending to held
	RxPauseDuration    unit.Time // sum of the holds that have ended
	Held               bool
	fabric.Onset
}

// SenderStats is a snapshot of a sending queue pair.
type SenderStats struct {
	Flow               fabric.FlowID
	Started, Completed bool
	Rate               unit.Rate // of the pacer
	Scheme             string
	InFlightBytes      unit.Bytes // of payload, sent and not acknowledged
	SenderCounters
}

// SenderCounters counts what a sending queue pair has sent.
type SenderCounters struct {
	SentPackets          uint64 // resent ones among them
	SentBytes            unit.Bytes
	RetransmittedPackets uint64     // that the sender went back by
	AckedBytes           unit.Bytes // of payload
}

// ReceiverStats is a snapshot of a receiving queue pair.
type ReceiverStats struct {
	Flow            fabric.FlowID
	ReceivedPackets uint64 // in order or not
	ReceivedBytes   unit.Bytes
	DeliveredBytes  unit.Bytes // of payload, in order
}

// Stats gives a snapshot that shares no memory with the NIC.
func (n *NIC) Stats() Stats {
	snapshot := n.stats
	snapshot.Frozen, snapshot.LinkDown = n.frozen, n.cable.Down
	snapshot.Losses = n.cable.Losses()
	for class := range fabric.Priority(fabric.Priorities) {
		snapshot.Priorities[class].Held = n.pause.holds(class)
	}
	snapshot.Senders, snapshot.Receivers = make([]SenderStats, len(n.senders)), make([]ReceiverStats, len(n.receivers))
	for i := range n.senders {
		s := &n.senders[i]
		snapshot.Senders[i] = SenderStats{
			Flow: s.ID, Started: s.started, Completed: s.done,
			Rate: s.pacer.rate, Scheme: s.scheme, InFlightBytes: s.inFlight, SenderCounters: s.stats,
		}
	}
	for i := range n.receivers {
		snapshot.Receivers[i] = n.receivers[i].stats
		snapshot.Receivers[i].Flow = n.receivers[i].ID
	}
	if n.engine != nil {
		snapshot.Engine = n.engine.snapshot(n.now)
	}
	return snapshot
}

// Counters gives the present counters, see Stats.Counters.
func (n *NIC) Counters() iter.Seq2[string, uint64] {
	s := n.Stats()
	return s.Counters()
}

// retransmitted sums the packets that the senders went back by.
func (s *Stats) retransmitted() (sum uint64) {
	for i := range s.Senders {
		sum += s.Senders[i].RetransmittedPackets
	}
	return sum
}

// counters gives the counters of a class, by their names in the mlx5 driver.
func (p *PriorityStats) counters(class int, yield func(string, uint64) bool) bool {
	rx, tx := "rx_prio"+strconv.Itoa(class), "tx_prio"+strconv.Itoa(class)
	return yield(tx+"_packets", p.TxPackets) && yield(tx+"_bytes", p.TxBytes) &&
		yield(rx+"_packets", p.RxPackets) && yield(rx+"_bytes", p.RxBytes) && yield(rx+"_discards", p.RxDiscards) &&
		yield(tx+"_pause", p.TxPause) && yield(rx+"_pause", p.RxPause) &&
		yield(rx+"_pause_duration", uint64(p.RxPauseDuration/unit.Microsecond)) &&
		yield(rx+"_pause_transition", p.RxPauseTransition)
}

// ClassCounters gives the present onsets, see Stats.ClassCounters.
func (n *NIC) ClassCounters() iter.Seq2[fabric.Port, fabric.ClassCounters] {
	s := n.Stats()
	return s.ClassCounters()
}

// ClassCounters says of each class of the port in which there was PAUSE when that
// began; its counters are among those of the NIC.
func (s *Stats) ClassCounters() iter.Seq2[fabric.Port, fabric.ClassCounters] {
	return func(yield func(fabric.Port, fabric.ClassCounters) bool) {
		for class := range s.Priorities {
			onset := s.Priorities[class].Onset
			if onset != (fabric.Onset{}) && !yield(0, fabric.ClassCounters{Class: fabric.Priority(class), Onset: onset, Counters: none}) {
				return
			}
		}
	}
}

// none is no counter.
func none(func(string, uint64) bool) {}

// Counters gives the counters by the names that the mlx5 driver has for them, and
// in its units (a pause duration is in microseconds), always in the same order. What
// the driver does not count has names of rackfab: ACKs, NAKs sent, packets sent again,
// malformed frames, frames that were lost on the link, with a cut link, at a frozen NIC
// or for want of room in the control queue, and the peak of the receive buffer.
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
			{"np_cnp_sent", s.NPCNPSent},
			{"np_ecn_marked_roce_packets", s.NPECNMarkedRoCEPackets},
			{"rp_cnp_handled", s.RPCNPHandled},
			{"rp_cnp_ignored", s.RPCNPIgnored},
			{"out_of_sequence", s.OutOfSequence},
			{"duplicate_request", s.DuplicateRequest},
			{"packet_seq_err", s.PacketSeqErr},
			{"local_ack_timeout_err", s.LocalAckTimeoutErr},
		} {
			if !yield(c.name, c.value) {
				return
			}
		}
		for class := range s.Priorities {
			if !s.Priorities[class].counters(class, yield) {
				return
			}
		}
		for name, value := range s.Engine.counters() {
			if !yield(name, value) {
				return
			}
		}
	}
}

// Depth gives the bytes that wait to be sent, none, for a NIC makes a frame when it
// can send it; and those that its receive buffer holds.
func (n *NIC) Depth(fabric.Port) (queued, held unit.Bytes) {
	if n.intake != nil {
		held = n.intake.total
	}
	return 0, held
}

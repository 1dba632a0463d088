package llr

import "github.com/rackfab/rackfab/fabric/unit"

// SenderStats count what the sending half of an end has done since the start of the run.
type SenderStats struct {
	Frames         uint64 // numbered, each once
	Replays        uint64 // started
	ReplayedFrames uint64
	ReplayedBytes  unit.Bytes
	ReplayTime     unit.Time // that the link was occupied by replays
	Timeouts       uint64    // of the replay timer
	Flushes        uint64
	Discarded      uint64 // frames dropped by a flush
	ACKs, NACKs    uint64 // received
	NumberErrors   uint64 // ACKs and NACKs of frames that are not held
	Control        uint64 // control frames of all kinds sent by this end
	PeakBytes      unit.Bytes
	HeldFrames     int // in the replay buffer now
	HeldBytes      unit.Bytes
}

// ReceiverStats count what the receiving half has done.
type ReceiverStats struct {
	Good        uint64 // frames taken
	Bad         uint64 // damaged, with the expected number
	Missing     uint64 // discarded: an earlier frame was missing
	Duplicates  uint64 // discarded: had arrived before
	ACKs, NACKs uint64 // sent
}

// Stats is a snapshot of an end.
type Stats struct {
	SenderStats
	Receiver ReceiverStats
}

// Add adds the counts of another end; of the peaks, it keeps the larger.
func (s *Stats) Add(o *Stats) {
	s.Frames += o.Frames
	s.Replays += o.Replays
	s.ReplayedFrames += o.ReplayedFrames
	s.ReplayedBytes += o.ReplayedBytes
	s.ReplayTime += o.ReplayTime
	s.Timeouts += o.Timeouts
	s.Flushes += o.Flushes
	s.Discarded += o.Discarded
	s.ACKs += o.ACKs
	s.NACKs += o.NACKs
	s.NumberErrors += o.NumberErrors
	s.Control += o.Control
	s.HeldFrames += o.HeldFrames
	s.HeldBytes += o.HeldBytes
	s.PeakBytes = max(s.PeakBytes, o.PeakBytes)
	s.Receiver.Good += o.Receiver.Good
	s.Receiver.Bad += o.Receiver.Bad
	s.Receiver.Missing += o.Receiver.Missing
	s.Receiver.Duplicates += o.Receiver.Duplicates
	s.Receiver.ACKs += o.Receiver.ACKs
	s.Receiver.NACKs += o.Receiver.NACKs
}

// Stats returns a snapshot.
func (e *End) Stats() Stats {
	now := Stats{e.sender.stats, e.receiver.stats}
	now.HeldFrames, now.HeldBytes = e.sender.held.Len(), e.sender.bytes
	return now
}

// Each yields the counters, always in the same order, and returns false if yield did. Their
// names are those of [SAI] after prefix, which is SAI_PORT_STAT_ at a switch; llr_ begins those
// of rackfab's own. A nil Stats has none.
func (s *Stats) Each(prefix string, yield func(string, uint64) bool) bool {
	if s == nil {
		return true
	}
	for _, c := range []struct {
		name  string
		value uint64
	}{
		{prefix + "LLR_TX_OK", s.Frames + s.ReplayedFrames},
		{prefix + "LLR_TX_ACK_CTL_OS", s.Receiver.ACKs},
		{prefix + "LLR_TX_NACK_CTL_OS", s.Receiver.NACKs},
		{prefix + "LLR_RX_ACK_CTL_OS", s.ACKs},
		{prefix + "LLR_RX_NACK_CTL_OS", s.NACKs},
		{prefix + "LLR_RX_ACK_NACK_SEQ_ERROR", s.NumberErrors},
		{prefix + "LLR_RX_EXPECTED_SEQ_GOOD", s.Receiver.Good},
		{prefix + "LLR_RX_EXPECTED_SEQ_BAD", s.Receiver.Bad},
		{prefix + "LLR_RX_MISSING_SEQ", s.Receiver.Missing},
		{prefix + "LLR_RX_DUPLICATE_SEQ", s.Receiver.Duplicates},
		{"llr_replays", s.Replays},
		{"llr_replayed_frames", s.ReplayedFrames},
		{"llr_replayed_bytes", uint64(s.ReplayedBytes)},
		{"llr_replay_time_ns", uint64(s.ReplayTime / unit.Nanosecond)},
		{"llr_timeouts", s.Timeouts},
		{"llr_flushes", s.Flushes},
		{"llr_discarded_frames", s.Discarded},
		{"llr_buffer_bytes", uint64(s.HeldBytes)},
		{"llr_buffer_peak_bytes", uint64(s.PeakBytes)},
	} {
		if !yield(c.name, c.value) {
			return false
		}
	}
	return true
}

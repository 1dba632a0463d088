package switching

import (
	"iter"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
)

// Counters have the names of SONiC, which are those of the Switch Abstraction
// Interface (saiport.h, saiqueue.h, saibuffer.h). A PFC counter counts frames,
// both PAUSE and RESUME.

// Counters returns the counters of the whole switch, always in the same order. The
// first has its SAI name, the others are rackfab's own. The counters of the converter
// are 0 if no class is rewritten.
func (s *Stats) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		cut := uint64(0)
		for i := range s.Ports {
			cut += s.Ports[i].CutFrames
		}
		c := &s.Converter
		_ = yield("SAI_BUFFER_POOL_STAT_CURR_OCCUPANCY_BYTES", uint64(s.SharedUsed)) &&
			yield("malformed_frames", s.Malformed) && yield("lost_frames", cut) &&
			yield("rttx_counted_packets", c.Forward) && yield("rttx_event_packets", c.Events) &&
			yield("rttx_slight_packets", c.States[rttx.Slight]) && yield("rttx_severe_packets", c.States[rttx.Severe]) &&
			yield("rttx_untracked_packets", c.Overflowed+c.Collided) && yield("rttx_rewritten_packets", c.Rewritten) &&
			s.retry().Each("SAI_PORT_STAT_", yield)
	}
}

// retry returns the sum of link-layer retry over the ports, nil if no port has it.
func (s *Stats) retry() (sum *llr.Stats) {
	for i := range s.Ports {
		one := s.Ports[i].Retry
		if one == nil {
			continue
		}
		if sum == nil {
			sum = new(llr.Stats)
		}
		sum.Add(one)
	}
	return sum
}

// Counters returns the counters of a port, summed over its classes, always in the
// same order. link_loss_frames is rackfab's own: a real switch could not count it.
func (p *PortStats) Counters() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		var sum ClassStats
		for class := range p.Classes {
			c := &p.Classes[class]
			sum.ReceivedBytes += c.ReceivedBytes
			sum.SentBytes += c.SentBytes + c.TelemetryBytes
			sum.DroppedFrames += c.DroppedFrames
			sum.MarkedFrames += c.MarkedFrames
			if !c.pfc(fabric.Priority(class), yield) {
				return
			}
		}
		_ = yield("SAI_PORT_STAT_IF_IN_OCTETS", uint64(sum.ReceivedBytes)) &&
			yield("SAI_PORT_STAT_IF_OUT_OCTETS", uint64(sum.SentBytes)) &&
			yield("SAI_PORT_STAT_IF_IN_DISCARDS", sum.DroppedFrames) &&
			yield("SAI_PORT_STAT_IF_IN_ERRORS", p.DamagedFrames) && yield("link_loss_frames", p.LostFrames) &&
			yield("SAI_PORT_STAT_ECN_MARKED_PACKETS", sum.MarkedFrames) &&
			p.Retry.Each("SAI_PORT_STAT_", yield)
	}
}

// Counters returns the counters of a traffic class of a port, always in the same
// order: those of its egress queue, of its ingress priority group, and of PFC. trimmed_bytes
// is rackfab's own.
func (c *ClassStats) Counters(class fabric.Priority) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, one := range []struct {
			name  string
			value uint64
		}{
			{"SAI_QUEUE_STAT_PACKETS", c.SentFrames},
			{"SAI_QUEUE_STAT_BYTES", uint64(c.SentBytes + c.TelemetryBytes)},
			{"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", uint64(c.QueueBytes)},
			{"SAI_QUEUE_STAT_WATERMARK_BYTES", uint64(c.QueuePeakBytes)},
			{"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", c.MarkedFrames},
			{"SAI_QUEUE_STAT_TRIM_PACKETS", c.TrimmedFrames},
			{"trimmed_bytes", uint64(c.TrimmedBytes)},
			{"SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", c.ReceivedFrames},
			{"SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", uint64(c.ReceivedBytes)},
			{"SAI_INGRESS_PRIORITY_GROUP_STAT_CURR_OCCUPANCY_BYTES", uint64(c.OccupancyBytes)},
			{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES", uint64(c.HeadroomBytes)},
			{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", c.DroppedFrames},
		} {
			if !yield(one.name, one.value) {
				return
			}
		}
		c.pfc(class, yield)
	}
}

// pfc yields the counters of PFC frames for the class.
func (c *ClassStats) pfc(class fabric.Priority, yield func(string, uint64) bool) bool {
	name := "SAI_PORT_STAT_PFC_" + strconv.Itoa(int(class))
	return yield(name+"_TX_PKTS", c.PausesSent+c.ResumesSent) && yield(name+"_RX_PKTS", c.PausesReceived+c.ResumesReceived)
}

// Counters returns the current counters of the whole switch, see Stats.Counters.
func (s *Switch) Counters() iter.Seq2[string, uint64] {
	now := s.Stats()
	return now.Counters()
}

// ClassCounters returns the counters of each port and class with any activity,
// ordered by port, then by class.
func (s *Switch) ClassCounters() iter.Seq2[fabric.Port, fabric.ClassCounters] {
	return func(yield func(fabric.Port, fabric.ClassCounters) bool) {
		now := s.Stats()
		for i := range now.Ports {
			for c := range now.Ports[i].ClassCounters() {
				if !yield(fabric.Port(i), c) {
					return
				}
			}
		}
	}
}

// ClassCounters returns the counters of each class of the port with any activity,
// ordered by class.
func (p *PortStats) ClassCounters() iter.Seq[fabric.ClassCounters] {
	return func(yield func(fabric.ClassCounters) bool) {
		for i := range p.Classes {
			c, class := &p.Classes[i], fabric.Priority(i)
			if *c == (ClassStats{}) {
				continue
			}
			if !yield(fabric.ClassCounters{Class: class, Onset: c.Onset, Counters: c.Counters(class)}) {
				return
			}
		}
	}
}

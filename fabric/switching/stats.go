package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Stats is a snapshot of a switch. Counters start at 0 with the run.
type Stats struct {
	// SharedUsed is the part of the shared pool in use. SharedSize is the size of the
	// pool: the buffer without reserves and headrooms.
	SharedUsed, SharedSize unit.Bytes
	// Malformed counts frames of no known form, which are discarded.
	Malformed uint64
	// Converter counts the conversions from ECN into RTT. It is zero if no class is
	// rewritten.
	Converter rttx.Stats
	Ports     []PortStats // by port number
}

// PortStats is a snapshot of one port.
type PortStats struct {
	LinkDown bool
	fabric.Losses
	Retry   *llr.Stats // nil without link-layer retry
	Classes [fabric.Priorities]ClassStats
}

// ClassStats is a snapshot of one traffic class at one port. At every instant,
// summed over the ports, received + originated = sent + dropped + queued. If frames are
// trimmed, that is true of the sums over all classes, with TrimmedBytes beside the bytes
// queued. Frame and byte counts exclude PFC frames.
type ClassStats struct {
	// As ingress.
	ReceivedFrames uint64
	ReceivedBytes  unit.Bytes
	// Originated counts the CNMs caused by frames that arrived here, in the class of
	// CNMs.
	OriginatedFrames uint64
	OriginatedBytes  unit.Bytes
	DroppedFrames    uint64
	DroppedBytes     unit.Bytes
	OccupancyBytes   unit.Bytes // buffer of frames that arrived here, headroom included
	HeadroomBytes    unit.Bytes // the headroom in OccupancyBytes
	PausesSent       uint64     // to the port's peer, refreshes included
	ResumesSent      uint64
	PeerIsPaused     bool // the class is in XOFF
	PausesReceived   uint64
	ResumesReceived  uint64

	// As egress.
	SentFrames     uint64
	SentBytes      unit.Bytes // without the telemetry written by this switch
	TelemetryBytes unit.Bytes
	// IndicatedFrames counts ACKs in which this switch indicated congestion.
	IndicatedFrames uint64
	// TelemetrySkipped counts frames that had no room for this switch's telemetry.
	TelemetrySkipped uint64
	MarkedFrames     uint64
	TrimmedFrames    uint64     // trimmed instead of joining this queue, or while in it
	TrimmedBytes     unit.Bytes // cut off from these frames
	CNMsSent         uint64     // by the congestion point of this queue
	QueueFrames      uint64
	QueueBytes       unit.Bytes
	QueuePeakBytes   unit.Bytes
	Paused           bool      // the peer pauses the class
	PausedFor        unit.Time // total duration of the pauses that have ended

	fabric.Onset
}

// Stats returns a snapshot that shares no memory with the switch.
func (s *Switch) Stats() Stats {
	snapshot := Stats{
		SharedUsed: s.buffer.shared,
		SharedSize: s.buffer.pool,
		Malformed:  s.malformed,
		Ports:      make([]PortStats, len(s.ports)),
	}
	if s.converter != nil {
		snapshot.Converter = s.converter.Stats()
	}
	for i := range s.ports {
		p, c := &snapshot.Ports[i], &s.ports[i].cable
		p.LinkDown, p.Losses = c.Down, c.Losses()
		if retry := s.ports[i].retry; retry != nil {
			now := retry.Stats()
			p.Retry = &now
		}
		for class := range fabric.Priority(fabric.Priorities) {
			snapshot.Ports[i].Classes[class] = s.classStats(fabric.Port(i), class)
		}
	}
	return snapshot
}

func (s *Switch) classStats(at fabric.Port, class fabric.Priority) ClassStats {
	p := &s.ports[at]
	c := p.stats[class]
	c.OccupancyBytes = s.buffer.occupancy(at, class)
	c.HeadroomBytes = s.buffer.accounts[at][class].headroom
	c.PeerIsPaused = p.xoff.set&(1<<class) != 0
	c.QueueFrames = uint64(p.queues[class].count)
	c.QueueBytes = p.queues[class].bytes
	c.QueuePeakBytes = p.queues[class].peak
	c.Paused = p.pauses.set&(1<<class) != 0
	return c
}

// Depth returns the bytes queued at a port for transmission, and the buffer used by
// frames that arrived at it, both over all classes.
func (s *Switch) Depth(at fabric.Port) (queued, buffered unit.Bytes) {
	for class := range fabric.Priority(fabric.Priorities) {
		buffered += s.buffer.occupancy(at, class)
	}
	return s.ports[at].depth.bytes, buffered
}

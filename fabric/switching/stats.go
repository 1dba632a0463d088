package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Stats is a snapshot of a switch. Counters count from the start of the run.
type Stats struct {
	// SharedUsed is how much of the shared pool is in use, of SharedSize: the
	// buffer without reserves and headrooms.
	SharedUsed, SharedSize unit.Bytes
	// Malformed counts frames that were discarded because no rule fits them.
	Malformed uint64
	// Converter counts what was turned from ECN into RTT; zero if no class is
	// rewritten.
	Converter rttx.Stats
	Ports     []PortStats // by port number
}

// PortStats is a snapshot of one port.
type PortStats struct {
	LinkDown bool
	fabric.Losses
	Classes [fabric.Priorities]ClassStats
}

// ClassStats is a snapshot of one traffic class at one port. At every instant,
// summed over the ports, received + originated = sent + dropped + queued. PFC
// frames are not in the frame and byte counts.
type ClassStats struct {
	// The port as ingress.
	ReceivedFrames uint64
	ReceivedBytes  unit.Bytes
	// Originated are the CNMs that frames which came in here gave rise to, in the
	// class of CNMs.
	OriginatedFrames uint64
	OriginatedBytes  unit.Bytes
	DroppedFrames    uint64
	DroppedBytes     unit.Bytes
	OccupancyBytes   unit.Bytes // buffer held by frames that came in here, headroom included
	HeadroomBytes    unit.Bytes // the part of it that is headroom
	PausesSent       uint64     // to the port's peer, refreshes included
	ResumesSent      uint64
	PeerIsPaused     bool // the class is in XOFF
	PausesReceived   uint64
	ResumesReceived  uint64

	// The port as egress.
	SentFrames     uint64
	SentBytes      unit.Bytes // without the telemetry that this switch has written
	TelemetryBytes unit.Bytes
	// IndicatedFrames counts ACKs that this switch has made to tell of congestion.
	IndicatedFrames uint64
	// TelemetrySkipped counts frames that had no room for this switch's telemetry.
	TelemetrySkipped uint64
	MarkedFrames     uint64
	CNMsSent         uint64 // by the congestion point of this queue
	QueueFrames      uint64
	QueueBytes       unit.Bytes
	QueuePeakBytes   unit.Bytes
	Paused           bool      // the peer holds the class
	PausedFor        unit.Time // sum of the pauses that have ended

	fabric.Onset
}

// Stats gives a snapshot that shares no memory with the switch.
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
	c.Paused = p.holds.set&(1<<class) != 0
	return c
}

// Depth gives the bytes that wait to be sent by a port, and the buffer that
// frames hold which came in by it, all classes together.
func (s *Switch) Depth(at fabric.Port) (queued, held unit.Bytes) {
	for class := range fabric.Priority(fabric.Priorities) {
		held += s.buffer.occupancy(at, class)
	}
	return s.ports[at].depth.bytes, held
}

package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Timestamp header: what a round-trip time is measured by. It is the last of the
// extension headers, two instants of four bytes each, and the ICRC covers it. A
// transport header version of 1 in the BTH announces it; no other header takes
// part in that, and a receiver that knows version 0 alone discards the packet
// (IBTA volume 1 §9.6, header validation). No standard gives RoCEv2 such a
// header: the layout is this project's.
const (
	stampSent     = -8 // from the end of the header bytes
	stampReceived = -4
	stampLen      = 8

	// stampedVersion is the transport header version of a packet with timestamps.
	stampedVersion = 1
)

// Stamp is an instant as it is on the wire, in nanoseconds modulo 2^32: it comes
// round every 4.29 s.
type Stamp uint32

// StampOf cuts an instant to whole nanoseconds.
func StampOf(t unit.Time) Stamp { return Stamp(t / unit.Nanosecond) }

// Since gives the span from earlier to s, from 0 to less than 4.29 s.
func (s Stamp) Since(earlier Stamp) unit.Time { return unit.Time(s-earlier) * unit.Nanosecond }

// Timestamps are the two instants of the header.
type Timestamps struct {
	Sent     Stamp // T_s: the data packet began to leave its sender; an ACK echoes it
	Received Stamp // T_r: the data packet was in at its receiver; 0 in a data packet
}

// Timestamped tells whether the packet has a timestamp header.
func (f *Frame) Timestamped() bool { return f.head[f.at(bthFlags)]&0x0f == stampedVersion }

// Timestamps gives the two instants of a timestamped frame of ClassRoCE.
func (f *Frame) Timestamps() Timestamps {
	end := int(f.n)
	return Timestamps{
		Sent:     Stamp(binary.BigEndian.Uint32(f.head[end+stampSent:])),
		Received: Stamp(binary.BigEndian.Uint32(f.head[end+stampReceived:])),
	}
}

// SetTimestamps rewrites the two instants of a timestamped frame of ClassRoCE.
func (f *Frame) SetTimestamps(t Timestamps) {
	end := int(f.n)
	binary.BigEndian.PutUint32(f.head[end+stampSent:], uint32(t.Sent))
	binary.BigEndian.PutUint32(f.head[end+stampReceived:], uint32(t.Received))
}

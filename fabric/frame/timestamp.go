package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Timestamp header, for the measurement of round-trip times. It is the last of the
// extension headers, two instants of four bytes each, and the ICRC covers it. Only
// a transport header version of 1 in the BTH announces it. A receiver that supports
// version 0 only discards the packet (IBTA volume 1 §9.6, header validation). No
// standard defines such a header for RoCEv2: the layout is this project's.
const (
	stampSent     = -8 // from the end of the header bytes
	stampReceived = -4
	stampLen      = 8

	// stampedVersion is the transport header version of a packet with timestamps.
	stampedVersion = 1
)

// Stamp is an instant as encoded on the wire, in nanoseconds modulo 2^32: it
// wraps every 4.29 s.
type Stamp uint32

// StampOf truncates an instant to whole nanoseconds.
func StampOf(t unit.Time) Stamp { return Stamp(t / unit.Nanosecond) }

// Since returns the duration from earlier to s, from 0 to less than 4.29 s.
func (s Stamp) Since(earlier Stamp) unit.Time { return unit.Time(s-earlier) * unit.Nanosecond }

// Timestamps holds the two instants of the header.
type Timestamps struct {
	Sent     Stamp // T_s: start of a data packet's or probe's transmission; the answer echoes it
	Received Stamp // T_r: arrival of that packet at its receiver; 0 in the packet itself
}

// Timestamped reports whether the packet has a timestamp header.
func (f *Frame) Timestamped() bool { return f.head[f.at(bthFlags)]&0x0f == stampedVersion }

// Timestamps returns the two instants of a timestamped frame of ClassRoCE.
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

// Package capture writes tapped packets as a pcapng file for Wireshark: one interface
// per port, timestamps in fabric time, a comment per packet, and the names of the nodes for
// their addresses. It does not know where the packets come from.
package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ErrFull means that a file has reached its limit. It keeps what was written before.
var ErrFull = errors.New("capture: the file has reached its limit")

// Options configure a capture file.
type Options struct {
	Limit int64 // maximum size of the file in bytes, 0 for no limit
	// Headers omits payloads, which are zeros, and the ICRC after them. The captured
	// length is then less than the original one.
	Headers bool
	// From is the first instant of the window. The file names the scheme at this
	// instant.
	From unit.Time
}

// Writer writes one capture file.
type Writer struct {
	options  Options
	seed     uint64
	file     *pcapgo.NgWriter
	index    map[place]int // of the interfaces
	received []uint64      // packets per interface
	lost     []int64
	size     int64
	wire     []byte
}

// place is a port of a node.
type place struct {
	node int
	port fabric.Port
}

// NewWriter starts a capture file of a run of s with one interface per point. There
// must be at least one point.
func NewWriter(w io.Writer, s *topology.Scenario, points []tap.Point, o Options) (*Writer, error) {
	c := &Writer{options: o, seed: s.Seed, index: map[place]int{}, received: make([]uint64, len(points)), lost: make([]int64, len(points))}
	about := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{
		Application: "rackfab",
		Comment:     fmt.Sprintf("%s under %s, seed %d; time is fabric time from 0", s.Name, s.SchemeText(o.From+1), s.Seed),
	}}
	counted := &counter{w: w}
	for i, p := range points {
		face := pcapgo.NgInterface{
			Name: p.Name, Description: p.Name + " to " + p.Peer, LinkType: layers.LinkTypeEthernet, TimestampResolution: 9,
		}
		var err error
		if i == 0 {
			c.file, err = pcapgo.NewNgWriterInterface(counted, face, about)
		} else {
			_, err = c.file.AddInterface(face)
		}
		if err != nil {
			return nil, err
		}
		c.index[place{p.Node, p.Port}] = i
	}
	err := c.file.Flush()
	if err == nil {
		err = writeNames(counted, s)
	}
	c.size = counted.n + int64(len(points)*statisticsSize)
	return c, err
}

// counter counts the bytes written.
type counter struct {
	w io.Writer
	n int64
}

// Write writes b to the underlying writer.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Write appends packets, which must be in time order. It returns ErrFull if not all of
// them fit.
func (c *Writer) Write(packets []tap.Packet) error {
	for i := range packets {
		if err := c.write(&packets[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Writer) write(p *tap.Packet) error {
	face, ok := c.index[place{p.Node, p.Port}]
	if !ok {
		return fmt.Errorf("capture: packet at port %d of node %d, which has no interface", p.Port, p.Node)
	}
	c.wire = c.bytes(c.wire[:0], &p.Frame)
	comment := commentOf(p, c.seed)
	length := int(p.Frame.Len() - frame.FCSLen)
	flags := &pcapgo.NgEpbFlags{Direction: direction(p.Way)}
	if p.Damaged() {
		flags.LinkLayerErr = pcapgo.NgEpbFlagLinkLayerDependentErrorCRC
		if length == len(c.wire) {
			c.wire = badFCS(c.wire)
			length, flags.FCSLen = len(c.wire), pcapgo.NewNgEpbFlagFCSLength(uint8(frame.FCSLen))
		}
	}
	size := packetSize(len(c.wire), len(comment))
	if c.options.Limit > 0 && c.size+size > c.options.Limit {
		return ErrFull
	}
	c.size += size
	c.received[face]++
	info := gopacket.CaptureInfo{
		Timestamp: time.Unix(0, int64(p.At/unit.Nanosecond)), CaptureLength: len(c.wire),
		Length: length, InterfaceIndex: face,
	}
	return c.file.WritePacketWithOptions(info, c.wire, pcapgo.NgPacketOptions{Comments: []string{comment}, Flags: flags})
}

// badFCS appends a frame check sequence that is wrong in every bit. The bit errors of a
// damaged frame are not emulated: the frame is captured as it was sent.
func badFCS(wire []byte) []byte {
	return binary.LittleEndian.AppendUint32(wire, ^crc32.ChecksumIEEE(wire))
}

// bytes appends the captured bytes of a frame, without its FCS.
func (c *Writer) bytes(dst []byte, f *frame.Frame) []byte {
	if f.Payload > 0 && c.options.Headers {
		return append(dst, f.Header()...)
	}
	return f.Materialise(dst)
}

func direction(w node.Way) pcapgo.NgEpbFlag {
	if w == node.Out {
		return pcapgo.NgEpbFlagDirectionOutbound
	}
	return pcapgo.NgEpbFlagDirectionInbound
}

// commentOf returns the comment on a packet of a run with that seed: its direction, the
// exact instant, the trace of its message, and the queues of the port. The comment on a
// damaged packet also contains fcs=bad.
func commentOf(p *tap.Packet, seed uint64) string {
	trace := "none"
	if message := fabric.MessageOf(p.Frame.Trace); message != 0 {
		trace = fmt.Sprintf("%x", tracing.TraceID(seed, message))
	}
	way := p.Way.String()
	if p.Damaged() {
		way = node.In.String() + " fcs=bad"
	}
	return fmt.Sprintf("dir=%s at_ps=%d trace=%s queue_bytes=%d held_bytes=%d",
		way, int64(p.At), trace, int64(p.Queued), int64(p.Held))
}

// Sizes of pcapng blocks and options in bytes.
const (
	packetBlock    = 32               // an enhanced packet block without its packet and options
	optionHead     = 4                // of each option; one more ends the list
	flagsOption    = optionHead + 4   // epb_flags
	statisticsSize = 24 + 2*(4+8) + 4 // an interface statistics block
)

// packetSize returns the size of a packet in the file, in bytes.
func packetSize(wire, comment int) int64 {
	padded := func(n int) int { return (n + 3) &^ 3 }
	return int64(packetBlock + padded(wire) + optionHead + padded(comment) + flagsOption + optionHead)
}

// Lose sets the number of packets lost so far at the point with that index.
func (c *Writer) Lose(point int, n int64) { c.lost[point] = n }

// Lost returns the number of packets lost at all points together.
func (c *Writer) Lost() (sum int64) {
	for _, n := range c.lost {
		sum += n
	}
	return sum
}

// Packets returns the number of packets in the file.
func (c *Writer) Packets() (sum uint64) {
	for _, n := range c.received {
		sum += n
	}
	return sum
}

// Close completes the file with the statistics of each interface: packets received and
// packets lost.
func (c *Writer) Close() error {
	for i, n := range c.received {
		s := pcapgo.NgInterfaceStatistics{PacketsReceived: n + uint64(c.lost[i]), PacketsDropped: uint64(c.lost[i])}
		if err := c.file.WriteInterfaceStats(i, s); err != nil {
			return err
		}
	}
	return c.file.Flush()
}

// Flush writes all buffered packets.
func (c *Writer) Flush() error { return c.file.Flush() }

package imports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pcapMagic are the first bytes of captures: pcapng, and pcap in us and ns, in both byte orders.
var pcapMagic = []string{"\n\r\r\n", "\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d"}

// isCapture reports whether data begins as a capture does.
func isCapture(data []byte) bool {
	return slices.ContainsFunc(pcapMagic, func(m string) bool { return strings.HasPrefix(string(data[:min(len(data), len(m))]), m) })
}

// opened returns the packets of a capture, and the link type of the last one read.
func opened(data []byte) (gopacket.ZeroCopyPacketDataSource, func(gopacket.CaptureInfo) layers.LinkType, error) {
	if !isCapture(data) {
		return nil, nil, errors.New("not a capture, want pcap or pcapng, uncompressed")
	}
	if strings.HasPrefix(string(data[:4]), pcapMagic[0]) {
		r, err := pcapgo.NewNgReader(bytes.NewReader(data), pcapgo.NgReaderOptions{WantMixedLinkType: true})
		return r, func(info gopacket.CaptureInfo) layers.LinkType {
			link, _ := info.AncillaryData[0].(layers.LinkType)
			return link
		}, err
	}
	r, err := pcapgo.NewReader(bytes.NewReader(data))
	return r, func(gopacket.CaptureInfo) layers.LinkType { return r.LinkType() }, err
}

// read reads all packets. A file that ends within a packet is read up to there.
func (p *pcap) read(data []byte) error {
	source, linkOf, err := opened(data)
	if err != nil {
		return err
	}
	d := &pcapDecoder{}
	for {
		frame, info, err := source.ZeroCopyReadPacketData()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF) && p.frames > 0:
			p.cut = true
			return nil
		case err != nil:
			return fmt.Errorf("packet %d: %w", p.frames+1, err)
		}
		p.frames++
		if err := p.add(d.decode(linkOf(info), frame), info.Timestamp); err != nil {
			return fmt.Errorf("packet %d: %w", p.frames, err)
		}
	}
}

// after returns the time of a packet, counted from the first one.
func (p *pcap) after(at time.Time) (unit.Time, error) {
	if p.first.IsZero() {
		p.first = at
	}
	longest := time.Duration(topology.LongestRun / unit.Nanosecond)
	d := at.Sub(p.first)
	if d < -longest || d > longest {
		return 0, fmt.Errorf("%s is more than %s from the first RoCEv2 packet: import a part of the capture", at.UTC().Format(time.RFC3339Nano), topology.LongestRun)
	}
	return unit.Time(d) * unit.Nanosecond, nil
}

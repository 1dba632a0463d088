package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

var (
	rack   = &topology.Scenario{Name: "rack", Scheme: "pfc", Seed: 3}
	points = []tap.Point{{Node: 1, Port: 2, Name: "s1:p2", Peer: "h0"}, {Node: 4, Port: 0, Name: "h0:p0", Peer: "s1"}}
)

// packets returns an incoming data packet, an outgoing PAUSE, and the same data packet
// damaged.
func packets() []tap.Packet {
	list := []tap.Packet{
		{At: 1_234_999, Node: 1, Port: 2, Queued: 7, Held: 2000},
		{At: 1_235_000, Node: 4, Way: node.Out},
	}
	data := frame.Packet{TTL: 64, BTH: frame.BTH{Opcode: frame.WriteMiddle}, Payload: 1000}
	data.Build(&list[0].Frame)
	list[0].Frame.Trace = 0xbeef | fabric.Closing
	(&frame.PFC{Enable: 8}).Build(&list[1].Frame)
	damaged := list[0]
	damaged.At, damaged.Way = 1_236_000, node.Damaged
	return append(list, damaged)
}

func written(t *testing.T, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, rack, points, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(packets()); err != nil {
		t.Fatal(err)
	}
	w.Lose(1, 5)
	if w.Packets() != 3 || w.Lost() != 5 {
		t.Errorf("%d packets, %d lost", w.Packets(), w.Lost())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.size != int64(b.Len()) {
		t.Errorf("the file has %d bytes, counted %d", b.Len(), w.size)
	}
	return b.Bytes()
}

// The file preserves instants rounded down to nanoseconds, both lengths, the interface,
// and the comment with the exact instant.
func TestFileRoundTrip(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    []string
	}{
		{Options{}, []string{
			"1234 s1:p2 1058 of 1058 dir 1 [dir=in at_ps=1234999 trace=@ queue_bytes=7 held_bytes=2000]",
			"1235 h0:p0 60 of 60 dir 2 [dir=out at_ps=1235000 trace=none queue_bytes=0 held_bytes=0]",
			"1236 s1:p2 1062 of 1062 dir 1 CRC error, FCS of 4 bytes is bad [dir=in fcs=bad at_ps=1236000 trace=@ queue_bytes=7 held_bytes=2000]",
		}},
		{Options{Headers: true}, []string{
			"1234 s1:p2 54 of 1058 dir 1 [dir=in at_ps=1234999 trace=@ queue_bytes=7 held_bytes=2000]",
			"1235 h0:p0 60 of 60 dir 2 [dir=out at_ps=1235000 trace=none queue_bytes=0 held_bytes=0]",
			"1236 s1:p2 54 of 1058 dir 1 CRC error [dir=in fcs=bad at_ps=1236000 trace=@ queue_bytes=7 held_bytes=2000]",
		}},
	} {
		r, err := pcapgo.NewNgReader(bytes.NewReader(written(t, c.options)), pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range c.want {
			data, info, about, err := r.ReadPacketDataWithOptions()
			if err != nil {
				t.Fatal(err)
			}
			face, err := r.Interface(info.InterfaceIndex)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s %d of %d dir %d%s %s",
				info.Timestamp.UnixNano(), face.Name, len(data), info.Length, about.Flags.Direction, errorsOf(data, about.Flags), about.Comments))
		}
		for i := range c.want { // the same trace ID as in a trace of the run
			c.want[i] = strings.Replace(c.want[i], "@", fmt.Sprintf("%x", tracing.TraceID(rack.Seed, 0xbeef)), 1)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
}

// errorsOf describes the errors in the flags of a packet and in its FCS, if any.
func errorsOf(data []byte, flags *pcapgo.NgEpbFlags) (text string) {
	if flags.LinkLayerErr == pcapgo.NgEpbFlagLinkLayerDependentErrorCRC {
		text = " CRC error"
	}
	if n := int(flags.FCSLen >> 5); n > 0 {
		at := len(data) - n
		text += fmt.Sprintf(", FCS of %d bytes is", n)
		if binary.LittleEndian.Uint32(data[at:]) == crc32.ChecksumIEEE(data[:at]) {
			return text + " good"
		}
		return text + " bad"
	}
	return text
}

// The file names the scheme at its first instant, whatever the initial scheme.
func TestFileNamesItsScheme(t *testing.T) {
	changed := *rack
	changed.Changes = []topology.Change{{At: 5, Verb: topology.ChangeScheme, Scheme: topology.SchemeSpec{Name: "pcn", Flows: topology.Everything}}}
	for from, want := range map[unit.Time]string{
		4: "rack under pfc, seed 3; time is fabric time from 0",
		5: "rack under pcn, seed 3; time is fabric time from 0",
	} {
		var b bytes.Buffer
		if _, err := NewWriter(&b, &changed, points, Options{From: from}); err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewNgReader(&b, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.SectionInfo().Comment; got != want {
			t.Errorf("from %d: %q", from, got)
		}
	}
}

// A comment has at most 65535 bytes: thousands of changes do not make the file invalid.
func TestSchemeCommentIsBounded(t *testing.T) {
	changed := *rack
	for i := range 5000 {
		changed.Changes = append(changed.Changes, topology.Change{
			At: unit.Time(i), Verb: topology.ChangeScheme, Scheme: topology.SchemeSpec{Name: "pcn", Flows: fmt.Sprintf("h%d->r0", i)},
		})
	}
	var b bytes.Buffer
	if _, err := NewWriter(&b, &changed, points, Options{From: 5000}); err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewNgReader(&b, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.SectionInfo().Comment; !strings.HasPrefix(got, "rack under pfc, 4989 more, pcn for h4989->r0, ") || !strings.HasSuffix(got, "fabric time from 0") {
		t.Errorf("%.300s", got)
	}
}

// The limit is exact to the byte, and the file is complete.
func TestFileSizeIsLimited(t *testing.T) {
	whole := int64(len(written(t, Options{})))
	for limit, want := range map[int64]uint64{whole: 3, whole - 1: 2, 300: 0} {
		var b bytes.Buffer
		w, err := NewWriter(&b, rack, points, Options{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(packets()); errors.Is(err, ErrFull) != (want < 3) {
			t.Errorf("limit %d: %v", limit, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if w.Packets() != want || want > 0 && int64(b.Len()) > limit || w.size != int64(b.Len()) {
			t.Errorf("limit %d: %d packets in %d bytes, counted %d", limit, w.Packets(), b.Len(), w.size)
		}
	}
}

func TestPacketWithoutInterface(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, rack, points, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]tap.Packet{{Node: 1, Port: 9}}); err == nil || errors.Is(err, ErrFull) {
		t.Errorf("a packet at another port: %v", err)
	}
}

// The file names the addresses of NICs and switches, for an independent reader, and for
// tshark those that its version resolves.
func TestFileNamesAddresses(t *testing.T) {
	named := *rack
	named.Nodes = []topology.Node{{Name: "h0", Kind: topology.NIC}, {Name: "s0", Kind: topology.Switch}, {Name: "node-12", Kind: topology.NIC, Host: 1}}
	file := filepath.Join(t.TempDir(), "named.pcapng")
	var b bytes.Buffer
	w, err := NewWriter(&b, &named, points, Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := packets()[:1]
	data := frame.Packet{TTL: 64, Src: frame.HostIP(0), Dst: frame.HostIP(1), SrcMAC: frame.HostMAC(0), DstMAC: frame.HostMAC(1), BTH: frame.BTH{Opcode: frame.WriteMiddle}, Payload: 1000}
	data.Build(&list[0].Frame)
	if err := errors.Join(w.Write(list), w.Close(), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if w.size != int64(b.Len()) {
		t.Errorf("the file has %d bytes, counted %d", b.Len(), w.size)
	}
	r, err := pcapgo.NewNgReader(&b, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.ReadPacketData(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.NNames() {
		n, err := r.Name(i)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%v %v", n.Addr, n.Names))
	}
	want := []string{"&{10.0.0.1} [h0]", "&{02:00:00:00:00:00} [h0]", "&{02:01:00:00:00:01} [s0]", "&{10.0.0.2} [node-12]", "&{02:00:00:00:00:01} [node-12]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("RACKFAB_CI") != "" {
			t.Fatal("tshark is not in PATH")
		}
		t.Skip("tshark is not in PATH: the resolution of names is not checked")
	}
	out, err := exec.Command(tshark, "-N", "n", "-r", file, "-T", "fields", "-e", "ip.src_host", "-e", "ip.dst_host").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "h0\tnode-12" {
		t.Errorf("tshark shows %q, %v", got, err)
	}
}

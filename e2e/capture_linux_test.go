package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// capturing is a running `rackfab capture` of a live rack.
type capturing struct {
	*exec.Cmd
	file string
	out  bytes.Buffer
}

// capture starts a capture and waits until it captures.
func (r *rack) capture(t *testing.T, args ...string) *capturing {
	t.Helper()
	c := &capturing{file: filepath.Join(t.TempDir(), "live.pcapng")}
	c.Cmd = exec.Command(program, append([]string{"capture", "--address", r.address, "-o", c.file}, args...)...)
	c.Stdout = &c.out
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // has ended already if the test passed
	lines := bufio.NewReader(log)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "capturing at ") {
		rest, _ := io.ReadAll(lines)
		t.Fatalf("no capture: %q %v %s", line, err, rest)
	}
	return c
}

// end waits for the end of the capture and returns its output.
func (c *capturing) end(t *testing.T) string {
	t.Helper()
	if err := c.Wait(); err != nil {
		t.Fatalf("capture: %v", err)
	}
	return c.out.String()
}

// A capture of a live run has the same bytes as a capture of the replayed journal. A
// capture that Ctrl-C ends is complete.
func TestCaptureOfALiveRunMatchesItsReplay(t *testing.T) {
	r := up(t, "pcn-16to2", "--scheme", "dcqcn", "--paused")
	r.do(t, "step", "100us")
	c := r.capture(t, "--at", "s1", "--at", "h0", "--for", "900us")
	until := r.capture(t, "--at", "r1", "--filter", "cnp,ack")
	r.do(t, "burst", "--from", "h2..h9", "--to", "r1", "--flows", "4", "--at", "250us")
	r.do(t, "resume")
	said := c.end(t)
	if !strings.Contains(said, "until 1ms, 0 lost") {
		t.Errorf("the capture prints %q", said)
	}
	r.do(t, "pause")
	if err := until.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if said := until.end(t); !strings.Contains(said, " 0 lost") || strings.Contains(said, ": 0 packets") {
		t.Errorf("interrupted: %q", said)
	}
	journal, replay := filepath.Join(t.TempDir(), "journal.yaml"), filepath.Join(t.TempDir(), "replay.pcapng")
	r.do(t, "journal", "save", journal)
	r.interrupt(t)
	if out, err := exec.Command(program, "replay", journal).CombinedOutput(); err != nil {
		t.Errorf("the captures changed the run: %v %s", err, out)
	}
	out, err := exec.Command(program, "capture", "--at", "s1", "--at", "h0", "--from", "100us", "--to", "1ms", "-o", replay, journal).CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	want, err1 := os.ReadFile(replay)
	got, err2 := os.ReadFile(c.file)
	if err1 != nil || err2 != nil || len(want) < 1e6 || !bytes.Equal(got, want) {
		t.Errorf("captures differ: live %d bytes, replayed %d bytes: %v %v", len(got), len(want), err1, err2)
	}
}

// dissected holds tshark's counts at one port in one direction.
type dissected struct{ pause, resume, cnp, ack, ce, frames int64 }

// dissect reads a capture with tshark and returns the counts by port and direction,
// such as "s1:p2 out". It fails the test on a malformed packet.
func dissect(t *testing.T, file string) map[string]*dissected {
	t.Helper()
	fields := []string{"-n", "-r", file, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}
	for _, f := range []string{"frame.interface_name", "frame.packet_flags_direction", "infiniband.bth.opcode", "ip.dsfield.ecn", "macc.cbfc.pause_time.c3", "_ws.malformed"} {
		fields = append(fields, "-e", f)
	}
	out, err := exec.Command(installed(t, "apt-get install tshark", "tshark"), fields...).Output()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]*dissected{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != 6 || f[5] != "" {
			t.Fatalf("tshark prints %q", line)
		}
		at := f[0] + " in"
		if f[1] == "0x00000002" {
			at = f[0] + " out"
		}
		d := counts[at]
		if d == nil {
			d = &dissected{}
			counts[at] = d
		}
		d.add(f[2], f[3], f[4])
	}
	return counts
}

// add counts a frame by its BTH opcode, ECN and pause time. An absent field is "".
func (d *dissected) add(opcode, ecn, pause string) {
	d.frames++
	if pause == "0" {
		d.resume++
	} else if pause != "" {
		d.pause++
	}
	switch opcode {
	case "129":
		d.cnp++
	case "17":
		d.ack++
	}
	if ecn == "3" {
		d.ce++
	}
}

// statsOf returns the counters of nodes.
func (r *rack) statsOf(t *testing.T, nodes string) (stats struct {
	Nodes []struct {
		Node     string
		Counters map[string]string
		Ports    []struct {
			Peer                                     string
			PausesSent, PausesReceived, MarkedFrames string
			Counters                                 map[string]string
		}
	}
},
) {
	t.Helper()
	text := strings.NewReplacer("pauses_sent", "PausesSent", "pauses_received", "PausesReceived", "marked_frames", "MarkedFrames").
		Replace(r.do(t, "stats", nodes, "--format", "json"))
	if err := json.Unmarshal([]byte(text), &stats); err != nil {
		t.Fatal(err)
	}
	return stats
}

// In a capture of the 16-to-2 burst, tshark counts what `rackfab stats` reports: PAUSE
// and RESUME, CE marks, CNPs and ACKs, and no malformed packet.
func TestCaptureMatchesStats(t *testing.T) {
	r := up(t, "pcn-16to2", "--scheme", "dcqcn", "--paused")
	r.do(t, "set", "s0.kmax", "20MB") // s0 must not mark, so that s1 sets all marks seen at s1
	r.do(t, "set", "s0.kmin", "10MB")
	c := r.capture(t, "--at", "s1", "--at", "r0..r1", "--to", "2ms")
	r.do(t, "step", "2ms")
	if said := c.end(t); !strings.Contains(said, "until 2ms, 0 lost") {
		t.Fatalf("the capture prints %q", said)
	}
	counts, stats := dissect(t, c.file), r.statsOf(t, "s1,r0..r1")
	r.interrupt(t)
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n } // "" is 0
	at := func(node string, port int, way string) dissected {
		if d := counts[node+":p"+strconv.Itoa(port)+" "+way]; d != nil {
			return *d
		}
		return dissected{}
	}
	var sum dissected
	for _, n := range stats.Nodes {
		if n.Node != "s1" {
			out := at(n.Node, 0, "out")
			if out.cnp != number(n.Counters["np_cnp_sent"]) || out.frames != number(n.Counters["tx_packets_phy"]) || out.ack+out.cnp != out.frames {
				t.Errorf("%s: tshark counts %+v, stats %v", n.Node, out, n.Counters)
			}
			sum.cnp, sum.ack = sum.cnp+out.cnp, sum.ack+out.ack
			continue
		}
		for i, p := range n.Ports {
			in, out := at("s1", i, "in"), at("s1", i, "out")
			tx, rx := number(p.Counters["SAI_PORT_STAT_PFC_3_TX_PKTS"]), number(p.Counters["SAI_PORT_STAT_PFC_3_RX_PKTS"])
			if out.pause != number(p.PausesSent) || out.pause+out.resume != tx || in.pause != number(p.PausesReceived) || in.pause+in.resume != rx {
				t.Errorf("s1 to %s: tshark counts %+v and %+v, stats %+v", p.Peer, in, out, p)
			}
			if marked := number(p.MarkedFrames); out.ce != marked {
				t.Errorf("s1 to %s: tshark counts %d marked frames, stats %d", p.Peer, out.ce, marked)
			}
			sum.pause, sum.resume, sum.ce = sum.pause+out.pause, sum.resume+out.resume, sum.ce+out.ce
		}
	}
	if sum.pause == 0 || sum.resume == 0 || sum.ce == 0 || sum.cnp == 0 || sum.ack == 0 {
		t.Errorf("the burst causes no event of some kind: %+v", sum)
	}
	t.Logf("%+v", sum)
}

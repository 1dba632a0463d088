package switching

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	trimClass fabric.Priority = 2  // class of the trimmed frames of class lossy
	trimmedAt uint8           = 16 // their DSCP
	lastHopAt uint8           = 17
	headers                   = 78 // length of a WRITE without payload
)

// write returns a WRITE of one packet in class lossy, of 1000 bytes.
func write(to int, flow uint32, psn uint32) *frame.Frame {
	return writeOf(to, flow, lossy, psn, size)
}

func writeOf(to int, flow uint32, class fabric.Priority, psn, length uint32) *frame.Frame {
	payload := length - headers
	p := frame.Packet{
		Src: frame.HostIP(100), Dst: frame.HostIP(to), DSCP: uint8(class) * 8, ECN: frame.ECT0, TTL: 64, SrcPort: uint16(flow) + 49152,
		Payload: payload, RETH: frame.RETH{Length: payload},
		BTH: frame.BTH{Opcode: frame.WriteOnly, DestQP: frame.ReceiverQP(flow), PSN: psn},
	}
	var f frame.Frame
	p.Build(&f)
	f.Trace = uint64(psn)
	return &f
}

// bounded is rackConfig(3) with a limit of three frames in class lossy.
func bounded(trim TrimConfig) Config {
	cfg := rackConfig(3)
	cfg.Classes[lossy].Queue = QueueConfig{Limit: 3 * size, Trim: trim}
	return cfg
}

var trimming = TrimConfig{On: true, Size: 64, DSCP: trimmedAt, DSCPLastHop: lastHopAt}

// TRIM-7: an egress queue never exceeds its limit: more frames are dropped, whatever ports they come from.
func TestQueueLimitDrops(t *testing.T) {
	r := newRig(t, bounded(TrimConfig{}))
	for i := range 7 { // one is sent, three wait, three are lost
		r.arrive(0, fabric.Port(1+i%2), write(0, 1, uint32(i)))
	}
	drops := r.notes(fabric.Dropped)
	if len(drops) != 3 || drops[0].Reason() != fabric.DropQueue || drops[0].Egress() != 0 || drops[0].Priority != lossy || drops[0].Port != 1 {
		t.Errorf("noted %+v", drops)
	}
	if c := r.Stats().Ports[0].Classes[lossy]; c.QueueBytes != 3*size || c.TrimmedFrames != 0 {
		t.Errorf("queued %+v", c)
	}
	if r.arrive(0, 1, write(2, 1, 9)); len(r.notes(fabric.Dropped)) != 3 {
		t.Error("the queue of another port is full too")
	}
}

// TRIM-3, TRIM-5: a frame that does not fit is trimmed: its headers join the class of the DSCP of trimmed frames,
// and are sent from there.
func TestTrim(t *testing.T) {
	r := newRig(t, bounded(trimming))
	for i := range uint32(6) {
		r.arrive(0, 1, write(0, 5, i))
	}
	notes := r.notes(fabric.Trimmed)
	want := fabric.Note{Event: fabric.NewTrimmed(size, size-headers), Port: 0, Priority: lossy, Flow: 5, Trace: 4}
	if len(notes) != 2 || notes[0] != want {
		t.Errorf("noted %+v, want %+v", notes, want)
	}
	egress := r.Stats().Ports[0]
	if c := egress.Classes[lossy]; c.TrimmedFrames != 2 || c.TrimmedBytes != 2*(size-headers) || c.QueueFrames != 3 {
		t.Errorf("class of data: %+v", c)
	}
	if c := egress.Classes[trimClass]; c.QueueFrames != 2 || c.QueueBytes != 2*headers {
		t.Errorf("class of trimmed frames: %+v", c)
	}
	if c := r.Stats().Ports[1].Classes[trimClass]; c.OccupancyBytes != 2*headers {
		t.Errorf("buffer of trimmed frames: %+v", c)
	}
	r.run(unit.Second)
	whole, cut := 0, 0
	for _, f := range r.sent(0) {
		if !f.Trimmed() {
			whole++
			continue
		}
		if cut++; f.Len() != headers || f.DSCP() != trimmedAt || f.DMALength() != size-headers || f.ECN() != frame.ECT0 {
			t.Errorf("sent % x", f.Header())
		}
	}
	if whole != 4 || cut != 2 || r.notes(fabric.Dropped) != nil {
		t.Errorf("%d whole and %d trimmed frames sent, %d notes of drops", whole, cut, len(r.notes(fabric.Dropped)))
	}
}

// TRIM-3, TRIM-6: a queue that leads to a host has a limit and a DSCP of its own.
func TestTrimAtTheLastHop(t *testing.T) {
	cfg := bounded(trimming)
	cfg.Ports[0].LastHop = true
	cfg.Classes[lossy].Queue.LastHop = 4 * size
	r := newRig(t, cfg)
	for i := range uint32(6) {
		r.arrive(0, 1, write(0, 5, i))
		r.arrive(0, 1, write(2, 6, i))
	}
	r.run(unit.Second)
	for port, want := range map[fabric.Port]struct {
		trimmed int
		dscp    uint8
	}{0: {1, lastHopAt}, 2: {2, trimmedAt}} {
		trimmed := 0
		for _, f := range r.sent(port) {
			if f.Trimmed() {
				if trimmed++; f.DSCP() != want.dscp {
					t.Errorf("port %d: DSCP %d, want %d", port, f.DSCP(), want.dscp)
				}
			}
		}
		if trimmed != want.trimmed {
			t.Errorf("port %d trimmed %d frames, want %d", port, trimmed, want.trimmed)
		}
	}
}

// TRIM-4: frames that are not trimmable are dropped, also in a class that trims.
func TestTrimNotTrimmable(t *testing.T) {
	r := newRig(t, bounded(trimming))
	for i := range uint32(5) {
		r.arrive(0, 1, packet(0, 5, lossy, frame.ECT0, i, size)) // WRITE middle: it has no RETH
	}
	if drops := r.notes(fabric.Dropped); len(drops) != 1 || drops[0].Reason() != fabric.DropQueue || r.notes(fabric.Trimmed) != nil {
		t.Errorf("noted %+v", drops)
	}
}

// TRIM-4: the class of trimmed frames has a limit too. The switch drops a frame whose headers exceed it,
// and counts it as dropped, not as trimmed.
func TestTrimmedFramesWithoutRoom(t *testing.T) {
	cfg := bounded(trimming)
	cfg.Classes[trimClass].Queue.Limit = headers + 1
	r := newRig(t, cfg)
	for i := range uint32(6) {
		r.arrive(0, 1, write(0, 5, i))
	}
	drops := r.notes(fabric.Dropped)
	if len(drops) != 1 || drops[0].Reason() != fabric.DropTrimmed || drops[0].Egress() != 0 || drops[0].Bytes() != size || len(r.notes(fabric.Trimmed)) != 1 {
		t.Errorf("noted %+v", drops)
	}
	if c := r.Stats().Ports[1].Classes[lossy]; c.DroppedFrames != 1 || c.DroppedBytes != size {
		t.Errorf("counted %+v", c)
	}
}

// A frame that an earlier switch trimmed is in the class of trimmed frames, is not trimmed again,
// and is dropped above the limit of that class.
func TestTrimmedFramePassesOn(t *testing.T) {
	cfg := bounded(trimming)
	cfg.Classes[trimClass].Queue.Limit = headers
	r := newRig(t, cfg)
	for i := range uint32(3) { // one is sent, one waits, one is lost
		f := write(0, 5, i)
		f.Trim(64, trimmedAt)
		r.arrive(0, 1, f)
	}
	drops := r.notes(fabric.Dropped)
	if len(drops) != 1 || drops[0].Reason() != fabric.DropQueue || drops[0].Priority != trimClass || r.notes(fabric.Trimmed) != nil {
		t.Errorf("noted %+v", drops)
	}
}

// A full shared buffer has the same effect as a full queue.
func TestTrimForWantOfBuffer(t *testing.T) {
	cfg := bounded(trimming)
	cfg.Classes[lossy].Queue.Limit = 0
	cfg.Classes[lossy].XOFF = 3 * size
	r := newRig(t, cfg)
	for i := range uint32(6) {
		r.arrive(0, 1, write(0, 5, i))
	}
	if len(r.notes(fabric.Trimmed)) != 2 || r.notes(fabric.Dropped) != nil {
		t.Errorf("%d trimmed, %d dropped, want 2 and 0", len(r.notes(fabric.Trimmed)), len(r.notes(fabric.Dropped)))
	}
}

// TRIM-5: by weights, trimmed frames get at most half of a congested port: as many bytes as data.
func TestTrimmedFramesShareThePort(t *testing.T) {
	cfg := bounded(trimming)
	r := newRig(t, cfg)
	for i := range uint32(300) {
		r.arrive(unit.Time(i)*ns, 1, write(0, 5, i))
	}
	for i := range uint32(40) { // as many whole frames as the port can send
		r.arrive(300*ns+unit.Time(i)*slot, 1, write(0, 5, 300+i))
	}
	var data, trimmed unit.Bytes
	for _, f := range r.sent(0) {
		if f.Trimmed() {
			trimmed += f.Len()
		} else {
			data += f.Len()
		}
	}
	if diff := data - trimmed; diff < -3*size || diff > 3*size {
		t.Errorf("data %v, trimmed frames %v, want the same", data, trimmed)
	}
}

// With a limit below one frame, each is trimmed, sent from an idle port at once, and sampled.
func TestTrimEverything(t *testing.T) {
	cfg := bounded(trimming)
	cfg.Classes[lossy].Queue.Limit = 1
	cfg.Sampling = fabric.Sampling{Every: us, End: unit.Second}
	r := newRig(t, cfg)
	r.arrive(0, 1, write(0, 5, 1))
	if sent := r.sent(0); len(sent) != 1 || !sent[0].Trimmed() {
		t.Errorf("sent %d frames", len(sent))
	}
	r.run(2 * us)
	if samples := r.notes(fabric.PortSampled); len(samples) != 1 || samples[0].Bytes() != headers {
		t.Errorf("sampled %+v", samples)
	}
}

// TRIM-6: the limits of a queue change while the switch runs. A queue above its new limit drains.
func TestTuneQueueLimit(t *testing.T) {
	cfg := bounded(TrimConfig{})
	cfg.Ports[2].LastHop = true
	r := newRig(t, cfg)
	tune := func(key fabric.Key, limit unit.Bytes) {
		r.Control(0, &fabric.Change{Verb: fabric.Tune, Key: key, Value: int64(limit), Classes: 1 << lossy, Named: true}, &r.out)
	}
	fill := func(to int) int {
		before := len(r.notes(fabric.Dropped))
		for i := range uint32(10) {
			r.arrive(0, 1, write(to, 5, i))
		}
		return 10 - (len(r.notes(fabric.Dropped)) - before)
	}
	tune(fabric.KeyQueueLimit, 5*size)
	tune(fabric.KeyQueueLimitLastHop, 2*size)
	if a, b := fill(0), fill(2); a != 1+5 || b != 1+2 {
		t.Errorf("queued %d and %d, want 6 and 3 with the one in transmission", a, b)
	}
	tune(fabric.KeyQueueLimit, 2*size)
	tune(fabric.KeyQueueLimitLastHop, 0)
	if a, b := fill(0), fill(2); a != 0 || b != 0 {
		t.Errorf("queued %d and %d above the limit", a, b)
	}
	tune(fabric.KeyQueueLimit, 0)
	if a := fill(0); a != 10 {
		t.Errorf("queued %d of 10 without a limit", a)
	}
}

func TestValidateQueue(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"lossless":     {func(c *Config) { c.Classes[lossless].Queue.Limit = 1 }, "class 3 is lossless"},
		"trim":         {func(c *Config) { c.Classes[lossless].Queue.Trim = trimming }, "class 3 is lossless"},
		"limit":        {func(c *Config) { c.Classes[lossy].Queue.LastHop = -1 }, "want 0 or more"},
		"size":         {func(c *Config) { c.Classes[lossy].Queue.Trim.Size = 63 }, "want 64 bytes"},
		"DSCP":         {func(c *Config) { c.Classes[lossy].Queue.Trim.DSCP = 64 }, "want 0 to 63"},
		"own class":    {func(c *Config) { c.Classes[lossy].Queue.Trim.DSCP = 8 }, "want another lossy class"},
		"into class 3": {func(c *Config) { c.Classes[lossy].Queue.Trim.DSCPLastHop = 24 }, "DSCP 24 of trimmed frames is in class 3"},
		"policy":       {func(c *Config) { c.Classes[lossy].Queue.Trim.Policy = "last" }, "want arriving or htsim"},
	} {
		cfg := bounded(trimming)
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		c.change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

package rx

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us    = unit.Microsecond
	gbps  = unit.GigabitPerSec
	class = fabric.Priority(3)
)

// data returns a frame with a payload.
func data(payload uint32) *frame.Frame {
	var f frame.Frame
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.ReadResponseOnly}, Payload: payload}
	p.Build(&f)
	return &f
}

// GET-2: issuing a request takes the transmission time of its 78 bytes; absorbing its
// response takes 50 times as long.
func TestAbsorbingTakesLonger(t *testing.T) {
	c := Config{Absorb: 108 * gbps, XOFF: 20_000, XON: 10_000, Quanta: 1, Buffer: 100_000}
	k := NewIntake(c, Port{})
	var request frame.Frame
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.ReadRequest}}
	p.Build(&request)
	response := data(2048)
	issue := (200 * gbps).Serialise(request.Len())
	if ratio := float64(k.cost(response)) / float64(issue); ratio < 49 || ratio > 51 {
		t.Errorf("a response takes %.1f times as long to absorb as its request to issue", ratio)
	}
	if k.cost(&request) != 0 {
		t.Error("a request without payload costs the host time")
	}
}

func TestFramesAreAbsorbedInOrderAtTheRateOfTheHost(t *testing.T) {
	k := NewIntake(Config{Absorb: gbps, XOFF: 3000, XON: 2000, Quanta: 100, Buffer: 5000}, Port{Rate: 40 * gbps})
	var out fabric.Out
	due := 7 + gbps.Serialise(data(500).Len())
	for _, payload := range []uint32{500, 1000, 1500, 5000} {
		k.Put(7, class, data(payload), &out)
	}
	if s := k.Stats(class); s.RxDiscards != 1 || k.Peak() != k.Total() || k.Total() != k.Bytes(class) || k.PFCDue() != 0 {
		t.Errorf("%+v, %v of %v in the buffer, peak %v, PFC due at %v", s, k.Bytes(class), k.Total(), k.Peak(), k.PFCDue())
	}
	for _, payload := range []uint32{500, 1000, 1500} {
		if k.Due() != due {
			t.Errorf("%d bytes of payload are absorbed at %v, want %v", payload, k.Due(), due)
		}
		if f := k.Take(); f.Payload != payload {
			t.Errorf("absorbed %d bytes of payload, want %d", f.Payload, payload)
		}
		due += gbps.Serialise(data(payload + 500).Len())
	}
	if k.Due() != unit.Never || k.Total() != 0 || k.Bytes(class) != 0 {
		t.Errorf("an empty buffer has %v bytes and is due at %v", k.Total(), k.Due())
	}
}

// The zero configuration buffers nothing and sends no PFC frame.
func TestImmediateIntakeIsNeverDue(t *testing.T) {
	k := NewIntake(Config{}, Port{})
	if !k.Immediate() || k.Due() != unit.Never || k.PFCDue() != unit.Never {
		t.Errorf("due at %v, PFC at %v", k.Due(), k.PFCDue())
	}
}

func TestPFCFrameNamesTheClassesThatChange(t *testing.T) {
	k := NewIntake(Config{Absorb: gbps, XOFF: 1000, XON: 500, Quanta: 100, Buffer: 5000}, Port{Rate: 40 * gbps})
	var out fabric.Out
	var f frame.Frame
	var pause, resume frame.PFC
	k.Put(0, class, data(1500), &out)
	k.BuildPFC(0, &f, &out)
	if err := pause.Parse(&f); err != nil || pause.Enable != 1<<class || pause.Quanta[class] != 100 {
		t.Errorf("PAUSE %+v (%v)", pause, err)
	}
	if half := (40 * gbps).Serialise(100*64) / 2; k.PFCDue() != half {
		t.Errorf("refreshed at %v, want %v", k.PFCDue(), half)
	}
	k.Take()
	k.BuildPFC(1, &f, &out)
	if err := resume.Parse(&f); err != nil || resume.Enable != 1<<class || resume.Quanta[class] != 0 || k.PFCDue() != unit.Never {
		t.Errorf("RESUME %+v (%v), next PFC at %v", resume, err, k.PFCDue())
	}
	if s := k.Stats(class); s.TxPause != 1 {
		t.Errorf("%d PAUSE frames counted, want 1", s.TxPause)
	}
}

func TestValidation(t *testing.T) {
	valid := Config{Absorb: gbps, XOFF: 20_000, XON: 10_000, Quanta: 1, Buffer: 100_000}
	if err := valid.Validate(); err != nil {
		t.Error(err)
	}
	for name, edit := range map[string]func(*Config){
		"rate": func(c *Config) { c.Absorb = -1 }, "buffer": func(c *Config) { c.Buffer = 1 << 40 },
		"xon": func(c *Config) { c.XON = c.XOFF }, "xoff": func(c *Config) { c.XOFF = c.Buffer },
		"quanta": func(c *Config) { c.Quanta = 0 }, "entries": func(c *Config) { c.Translation = cached(MaxEntries + 1) },
		"page": func(c *Config) { c.Translation = TranslationConfig{Entries: 1} },
		"hit":  func(c *Config) { c.Translation.Hit = 1 }, "miss": func(c *Config) { c.Translation.Miss = MaxLookup + 1 },
		"buffer without a rate": func(c *Config) { c.Absorb, c.Buffer, c.Translation = 0, 0, cached(1) },
	} {
		c := valid
		if edit(&c); c.Validate() == nil {
			t.Errorf("%s: no fault", name)
		}
	}
}

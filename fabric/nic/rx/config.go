// Package rx is the receiving side of a NIC's port: the buffer in which frames wait for
// the host, and the pauses by which link partners control one another (IEEE 802.1Q
// clause 36). It knows frames and traffic classes; it does not know queue pairs.
package rx

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of a Config.
const (
	maxBuffer = 64 * unit.Megabyte           // bounds the memory of the receive buffer
	maxAbsorb = 100_000 * unit.GigabitPerSec // keeps the arithmetic in 64 bits
	// MaxEntries bounds the memory of the translation cache, MaxPage and MaxLookup the
	// settings of a page and of a lookup.
	MaxEntries = 1 << 20
	MaxPage    = unit.Bytes(1 << 30)
	MaxLookup  = unit.Millisecond
)

// Config is the rate at which the host absorbs arriving frames, the translation of their
// addresses, and the receive buffer in which they wait. With an Absorb of 0 the host
// absorbs a frame at once when its addresses are translated.
type Config struct {
	Absorb unit.Rate // of frames with payload, in bytes of frame.Len
	Buffer unit.Bytes
	// XOFF and XON are thresholds of the occupancy of a traffic class. The NIC sends
	// PAUSE above XOFF, and RESUME at or below XON.
	XOFF, XON unit.Bytes
	Quanta    uint16 // pause time of a PAUSE frame, in units of 512 bit times

	Translation TranslationConfig
}

// immediate reports whether the host absorbs frames at once.
func (c *Config) immediate() bool { return c.Absorb == 0 && c.Translation.Entries == 0 }

// Validate returns all faults of the configuration, or nil.
func (c *Config) Validate() error {
	if c.immediate() {
		return nil
	}
	t := &c.Translation
	return errors.Join(
		want(0 <= t.Entries && t.Entries <= MaxEntries, "%d translations in the cache, want 0 to %d", t.Entries, MaxEntries),
		want(t.Entries == 0 || 0 < t.Page && t.Page <= MaxPage, "page of %v, want more than 0 and at most %v", t.Page, MaxPage),
		want(0 <= t.Hit && t.Hit <= t.Miss && t.Miss <= MaxLookup,
			"lookup of %v for a hit and %v for a miss, want 0 <= hit <= miss <= %v", t.Hit, t.Miss, MaxLookup),
		want(0 <= c.Absorb && c.Absorb <= maxAbsorb, "receive rate %v, want 0 to %v", c.Absorb, maxAbsorb),
		want(0 < c.Buffer && c.Buffer <= maxBuffer, "receive buffer %v, want more than 0 and at most %v", c.Buffer, maxBuffer),
		want(0 <= c.XON && c.XON < c.XOFF && c.XOFF < c.Buffer,
			"XON %v, XOFF %v and receive buffer %v, want 0 <= XON < XOFF < receive buffer", c.XON, c.XOFF, c.Buffer),
		want(c.Quanta > 0, "pause quanta 0, want at least 1"))
}

// want returns an error unless ok.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

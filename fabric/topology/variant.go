package topology

import (
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultShift is the largest shift of bursts and commands in a variant, in either
// direction. It exceeds the control periods of the schemes (50 us), so that a burst
// meets them in any phase.
const DefaultShift = 100 * unit.Microsecond

// Draw holds the values that a variant of a scenario changes.
type Draw struct {
	Seed  uint64    `json:"seed"`
	Shift unit.Time `json:"shift_ps"` // of all bursts and commands of the file, by the same time
}

// Draw returns the draw of variant k. It depends on the scenario's seed only, not on
// the number of variants. Variant 0 is the scenario as written. Bursts and commands
// move by a whole number of nanoseconds, uniform between -most and most, within the
// run.
func (s *Scenario) Draw(k int, most unit.Time) Draw {
	if k == 0 {
		return Draw{Seed: s.Seed}
	}
	x := splitmix.Mix(s.Seed ^ splitmix.Mix(uint64(k)))
	least, limit := s.shiftRange(most)
	steps := uint64((limit-least)/unit.Nanosecond) + 1
	return Draw{
		Seed:  splitmix.Mix(x) >> 32, // short enough to be typed
		Shift: least + unit.Time(splitmix.Mix(x^1)%steps)*unit.Nanosecond,
	}
}

// Moved returns the names of the bursts and commands of the file, which variants
// move. Flows keep their start, bursts that wait follow what they wait for, and the
// flows of workloads depend on the seed.
func (s *Scenario) Moved() (names []string) {
	s.movable(func(name string, _ *unit.Time) { names = append(names, name) })
	return names
}

// Drawn returns the scenario with the values of variant k, neither completed nor
// checked; see Draw.
func (s *Scenario) Drawn(k int, most unit.Time) *Scenario {
	draw, changed := s.Draw(k, most), *s
	changed.Seed = draw.Seed
	changed.Bursts = append([]Burst(nil), s.Bursts...)
	changed.Commands = append([]Command(nil), s.Commands...)
	changed.movable(func(_ string, at *unit.Time) { *at += draw.Shift })
	return &changed
}

// movable calls do with the start of each burst and command that a variant moves.
func (s *Scenario) movable(do func(name string, at *unit.Time)) {
	for i := range s.Bursts {
		if b := &s.Bursts[i]; !b.Change && !b.Workload && len(b.After) == 0 {
			do(b.Name, &b.At)
		}
	}
	for i := range s.Commands {
		do(s.Commands[i].Name, &s.Commands[i].At)
	}
}

// shiftRange returns the range of shifts, within -most and most, that keep every burst and
// command within the run.
func (s *Scenario) shiftRange(most unit.Time) (least, limit unit.Time) {
	least, limit = -most, most
	s.movable(func(_ string, at *unit.Time) {
		least = max(least, -*at)
		limit = min(limit, s.Duration-1-*at)
	})
	limit = max(limit, 0)
	return least / unit.Nanosecond * unit.Nanosecond, limit / unit.Nanosecond * unit.Nanosecond
}

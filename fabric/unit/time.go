// Package unit defines the quantities of the fabric: time in picoseconds, rates
// in bits per second and sizes in bytes. It converts between them exactly, and
// parses and formats their text forms ("5us", "40Gbps", "64KB"). It knows
// nothing of frames, nodes or clocks.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Time is an instant or a duration of fabric time in picoseconds. Instants
// count from the start of the run; the range is about 106 days.
type Time int64

// Spans of time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
	// Never is later than every instant of a run.
	Never Time = math.MaxInt64
)

// The micro sign is U+00B5 or, as most keyboards and Unicode's normal form have it, the Greek letter U+03BC.
var timeUnits = []scale{
	{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"\u00b5s", 1e6}, {"\u03bcs", 1e6}, {"ms", 1e9}, {"s", 1e12},
}

// ParseTime parses a duration such as "5us", "1.5ms" or "0". It rejects
// negative durations, unknown units, precision below a picosecond, and Never.
func ParseTime(s string) (Time, error) {
	t, err := parse[Time]("time", s, timeUnits)
	if t == Never {
		return 0, fmt.Errorf("time %q: too large", s)
	}
	return t, err
}

// String formats the duration in the largest unit that keeps it exact,
// "12.8us".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return formatScaled(int64(t), timeUnits)
}

// Seconds returns the duration as a floating-point number of seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e12 }

// scale is a unit's suffix and its size in the base unit.
type scale struct {
	suffix string
	factor int64
}

// parse parses a quantity of the given name.
func parse[T ~int64](name, s string, scales []scale) (T, error) {
	v, err := parseScaled(s, scales)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", name, s, err)
	}
	return T(v), nil
}

// parseScaled parses a decimal number followed by one of the suffixes, exactly.
func parseScaled(s string, scales []scale) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "0" {
		return 0, nil
	}
	cut := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if cut <= 0 {
		return 0, fmt.Errorf("want a number and a unit of %s", suffixes(scales))
	}
	for _, u := range scales {
		if strings.TrimSpace(s[cut:]) == u.suffix {
			return parseExact(s[:cut], u.factor)
		}
	}
	return 0, fmt.Errorf("unknown unit %q, want one of %s", strings.TrimSpace(s[cut:]), suffixes(scales))
}

// parseExact multiplies a decimal number by factor without rounding.
func parseExact(number string, factor int64) (int64, error) {
	whole, frac, _ := strings.Cut(number, ".")
	if whole == "" && frac == "" {
		return 0, fmt.Errorf("want digits")
	}
	w, err := strconv.ParseInt("0"+whole, 10, 64)
	if err != nil || w > math.MaxInt64/factor {
		return 0, fmt.Errorf("too large")
	}
	v := w * factor
	for _, d := range strings.TrimRight(frac, "0") {
		if factor%10 != 0 {
			return 0, fmt.Errorf("finer than the smallest unit")
		}
		if d == '.' {
			return 0, fmt.Errorf("two decimal points")
		}
		factor /= 10
		if v > math.MaxInt64-int64(d-'0')*factor {
			return 0, fmt.Errorf("too large")
		}
		v += int64(d-'0') * factor
	}
	return v, nil
}

func suffixes(scales []scale) string {
	names := make([]string, len(scales))
	for i, u := range scales {
		names[i] = u.suffix
	}
	return strings.Join(names, ", ")
}

// formatScaled formats v in the largest unit not above it, with as many
// decimals as exactness needs.
func formatScaled(v int64, scales []scale) string {
	if v == 0 {
		return "0" + scales[0].suffix
	}
	sign, mag := "", uint64(v)
	if v < 0 {
		sign, mag = "-", uint64(-v)
	}
	best := scales[0]
	for _, u := range scales {
		if mag >= uint64(u.factor) && u.factor > best.factor {
			best = u
		}
	}
	f := uint64(best.factor)
	text := strconv.FormatUint(mag/f, 10)
	if rest := mag % f; rest != 0 {
		digits := strconv.FormatUint(f+rest, 10)[1:]
		text += "." + strings.TrimRight(digits, "0")
	}
	return sign + text + best.suffix
}

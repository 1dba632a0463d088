package sweep

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/rackfab/rackfab/fabric/unit"
)

// progression matches a range of numbers: "1KiB..64MiB*2" (a factor) or "10us..50us+10us" (a step).
// Ranges of names, like "h0..h3", begin with a letter.
var progression = regexp.MustCompile(`^([0-9].*?)\.\.([0-9][^*+]*)(?:([*+])(.*))?$`)

// quantity is a kind of number with its text form.
type quantity struct {
	parse  func(string) (float64, error)
	format func(float64) string
	whole  bool // only whole amounts of the smallest unit have a text form
}

// quantities are those of the values of settings. The first one that reads a text is its quantity.
var quantities = []quantity{
	{func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }, func(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }, false},
	{amount(unit.ParseBytes), func(v float64) string { return size(unit.Bytes(v)) }, true},
	{amount(unit.ParseTime), func(v float64) string { return unit.Time(v).String() }, true},
	{amount(unit.ParseRate), func(v float64) string { return unit.Rate(v).String() }, true},
}

func amount[T ~int64](parse func(string) (T, error)) func(string) (float64, error) {
	return func(s string) (float64, error) {
		v, err := parse(s)
		return float64(v), err
	}
}

// size formats a size in the unit of fewest digits: 65536 as 64KiB, 64000 as 64KB.
func size(n unit.Bytes) string {
	text := n.String()
	for _, u := range []struct {
		name  string
		bytes unit.Bytes
	}{{"MiB", unit.Mebibyte}, {"KiB", unit.Kibibyte}} {
		if binary := fmt.Sprint(int64(n/u.bytes), u.name); n > 0 && n%u.bytes == 0 && len(binary) < len(text) {
			return binary
		}
	}
	return text
}

// expand returns the values of a list with those of each range in its place.
func expand(list []string) (values []string, err error) {
	for _, v := range list {
		m := progression.FindStringSubmatch(v)
		if m == nil {
			values = append(values, v)
			continue
		}
		members, err := between(m[1], m[2], m[3], m[4])
		if err != nil {
			return nil, fmt.Errorf("range %s: %w", v, err)
		}
		values = append(values, members...)
	}
	return values, nil
}

// between returns the numbers from first to last that follow from the first one by a factor ("*") or a
// step ("+").
func between(first, last, operator, by string) (values []string, err error) {
	if operator == "" {
		return nil, fmt.Errorf("want a factor or a step: %s..%s*2 or %[1]s..%[2]s+%[1]s", first, last)
	}
	q, low, high, err := bounds(first, last)
	if err != nil {
		return nil, err
	}
	next, err := q.progress(operator, by, low)
	if err != nil {
		return nil, err
	}
	if high < low {
		return nil, fmt.Errorf("the end is below the begin")
	}
	for i := 0; ; i++ {
		v := next(i)
		if v > high*(1+1e-12) {
			return values, nil
		}
		if values = append(values, q.format(v)); len(values) > MaxCells {
			return nil, fmt.Errorf("more than %d values", MaxCells)
		}
	}
}

// bounds parses the ends of a range, which must be of one quantity.
func bounds(first, last string) (q *quantity, low, high float64, err error) {
	for i := range quantities {
		q = &quantities[i]
		var lowErr, highErr error
		low, lowErr = q.parse(first)
		high, highErr = q.parse(last)
		if lowErr == nil && highErr == nil {
			return q, low, high, nil
		}
	}
	return nil, 0, 0, fmt.Errorf("want two numbers, or two sizes, times or rates")
}

// progress returns the i-th number of a range from low on.
func (q *quantity) progress(operator, by string, low float64) (func(i int) float64, error) {
	if operator == "*" {
		factor, err := strconv.ParseFloat(by, 64)
		if err != nil || factor <= 1 || math.IsInf(factor, 1) || low <= 0 {
			return nil, fmt.Errorf("want a factor above 1, and a begin above 0")
		}
		return func(i int) float64 { return q.round(low * math.Pow(factor, float64(i))) }, nil
	}
	step, err := q.parse(by)
	if err != nil || step <= 0 || math.IsInf(step, 1) {
		return nil, fmt.Errorf("want a step above 0, written as %s", q.format(low))
	}
	return func(i int) float64 { return low + float64(i)*step }, nil
}

func (q *quantity) round(v float64) float64 {
	if q.whole {
		return math.Round(v)
	}
	return v
}

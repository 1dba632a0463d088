package imports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// appendSwitches writes the switches, with the thresholds of config.txt for the fastest link of each.
func (h *hpcc) appendSwitches(b []byte, switches []int) []byte {
	fastest, mixed := make([]unit.Rate, len(h.kind)), make([]bool, len(h.kind))
	slowest := make([]unit.Rate, len(h.kind))
	for _, l := range h.links {
		for _, n := range l.ends {
			mixed[n] = mixed[n] || fastest[n] > 0 && fastest[n] != l.rate
			fastest[n] = max(fastest[n], l.rate)
			slowest[n] = min(cmp.Or(slowest[n], l.rate), l.rate)
		}
	}
	for n := range h.own {
		fastest[n], mixed[n] = slowest[n], false // queues are at the slowest link
	}
	b = append(b, "switches:\n"...)
	var last, like string // settings and prefix of the same switches
	var same []int
	flush := func() {
		for _, name := range ranges(like, same) {
			b = fmt.Appendf(b, "  %s:%s\n", name, last)
		}
		same = nil
	}
	missing, differ := map[unit.Rate]bool{}, 0
	for _, n := range switches {
		text, ok := h.config.thresholds(fastest[n])
		missing[fastest[n]] = missing[fastest[n]] || !ok
		if mixed[n] && text != "" {
			differ++
		}
		if size := h.buffer[n]; size > 0 {
			text = strings.TrimPrefix(text+fmt.Sprintf(", buffer: %dB", int64(size)), ", ")
		}
		if text != "" {
			text = " {" + text + "}"
		}
		prefix, number := h.numbered(n)
		if text != last || prefix != like {
			flush()
		}
		last, like, same = text, prefix, append(same, number)
	}
	flush()
	h.noteThresholds(missing, differ)
	return b
}

// noteThresholds notes switches whose thresholds are not those of each link.
func (h *hpcc) noteThresholds(missing map[unit.Rate]bool, differ int) {
	if h.config.scheme != "dcqcn" && h.config.scheme != "dctcp" {
		return
	}
	for _, rate := range slices.Sorted(maps.Keys(missing)) {
		if missing[rate] {
			h.note("no thresholds for links of %s: switches with such links have rackfab's defaults", rate)
		}
	}
	if differ > 0 {
		h.note("%d switches have links of several rates: their thresholds are those of the fastest one", differ)
	}
}

// thresholds returns the marking thresholds of a switch by the rate of its links, or "" if there are
// none. It reports whether the maps have all that the scheme uses.
func (c *hpccConfig) thresholds(rate unit.Rate) (text string, ok bool) {
	kmin, kmax, pmax := c.kmin[rate], c.kmax[rate], c.pmax[rate]
	switch {
	case c.scheme == "dctcp" && kmin != "":
		return fmt.Sprintf("step: %s, step_per: 0bps", kmin), true
	case c.scheme == "dcqcn" && kmin != "" && kmax != "" && pmax != "":
		return fmt.Sprintf("kmin: %s, kmax: %s, pmax: %s", kmin, kmax, pmax), true
	}
	return "", false
}

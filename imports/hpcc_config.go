package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// hpccConfig is what config.txt says. Maps are by the rate of a link.
type hpccConfig struct {
	scheme           string
	values           map[string]string // by key, of the keys in hpccParameters
	kmin, kmax, pmax map[unit.Rate]string
	payload          int64
	buffer           int64     // MiB
	loss             float64   // of links without an error rate
	end              unit.Time // of the simulation
	down             *hpccDown
	lossy, selective bool   // ENABLE_PFC 0, ENABLE_IRN 1
	routing          string // "" for the default
}

// hpccModes are the values of CC_MODE.
var hpccModes = map[string]string{"1": "dcqcn", "3": "hpcc", "7": "timely", "8": "dctcp", "10": "hpcc"}

// hpccPresets are the settings that the simulator has unless its configuration sets them.
var hpccPresets = map[string]string{"dcqcn": "preset: dcqcn_paper", "timely": "preset: scaled"}

// hpccParameters maps keys of config.txt to parameters of schemes. {} is the value; a rate is
// written as rackfab does, and times get their unit.
var hpccParameters = []struct{ key, scheme, form string }{
	{"RATE_AI", "dcqcn", "ai_rate: {rate}, steps_per: 0bps"},
	{"RATE_HAI", "dcqcn", "hai_rate: {rate}"},
	{"MIN_RATE", "dcqcn", "min_rate: {rate}"},
	{"EWMA_GAIN", "dcqcn", "g: {}"},
	{"RP_TIMER", "dcqcn", "timer: {}us"},
	{"ALPHA_RESUME_INTERVAL", "dcqcn", "alpha_timer: {}us"},
	{"RATE_DECREASE_INTERVAL", "dcqcn", "cut_period: {}us"},
	{"FAST_RECOVERY_TIMES", "dcqcn", "threshold: {}"},
	{"CLAMP_TARGET_RATE", "dcqcn", "clamp_target: {flag}"},
	{"RATE_AI", "hpcc", "ai_rate: {rate}, ai_per: 0bps"},
	{"MIN_RATE", "hpcc", "min_rate: {rate}"},
	{"U_TARGET", "hpcc", "eta: {}"},
	{"MI_THRESH", "hpcc", "max_stage: {}"},
	{"FAST_REACT", "hpcc", "fast_react: {flag}"},
	{"RATE_AI", "timely", "delta: {rate}, delta_per: 0bps"},
	{"MIN_RATE", "timely", "min_rate: {rate}"},
	{"DCTCP_RATE_AI", "dctcp", "ai_rate: {rate}"},
	{"EWMA_GAIN", "dctcp", "g: {}"},
	{"MIN_RATE", "dctcp", "min_rate: {rate}"},
}

// readConfig reads config.txt: a key and its values on each line.
func (h *hpcc) readConfig(f File) {
	h.config = hpccConfig{values: map[string]string{}, kmin: map[unit.Rate]string{}, kmax: map[unit.Rate]string{}, pmax: map[unit.Rate]string{}}
	var ignored []string
	line := 0
	for text := range bytes.Lines(f.Data) {
		line++
		w := wordsOf(File{f.Name, bytes.TrimRight(text, "\r\n")}, &h.faults)
		w.line, w.next, w.part = line, line, "line"
		if w.skip(); len(w.rest) == 0 {
			continue
		}
		key := w.word("key")
		if !h.configLine(key, w) {
			ignored = append(ignored, oneLine(key))
		} else if w.skip(); len(w.rest) > 0 && !w.ended {
			h.note("%s:%d: ignored: the rest of the line of %s", f.Name, line, key)
		}
	}
	slices.Sort(ignored)
	if ignored = slices.Compact(ignored); len(ignored) > 0 {
		h.note("%s: ignored: %s", f.Name, strings.Join(ignored, ", "))
	}
	h.checkDown(f.Name)
	h.noteParameters(f.Name)
}

// configLine reads the values of a key. It reports false if rackfab has no such setting.
func (h *hpcc) configLine(key string, w *words) bool {
	c := &h.config
	switch key {
	case "CC_MODE":
		h.mode(w)
	case "KMIN_MAP":
		h.byRate(w, c.kmin, func() string { return fmt.Sprintf("%dKB", w.integer("threshold in KB", 0, 1e9)) })
	case "KMAX_MAP":
		h.byRate(w, c.kmax, func() string { return fmt.Sprintf("%dKB", w.integer("threshold in KB", 0, 1e9)) })
	case "PMAX_MAP":
		h.byRate(w, c.pmax, func() string { return strconv.FormatFloat(w.share("probability"), 'g', -1, 64) })
	case "PACKET_PAYLOAD_SIZE":
		c.payload = w.integer("payload", 4, 65000)
	case "BUFFER_SIZE":
		c.buffer = w.integer("buffer in MB", 1, 1e6)
	case "ERROR_RATE_PER_LINK":
		c.loss = w.share("error rate")
	case "SIMULATOR_STOP_TIME":
		h.stop(w)
	case "LINK_DOWN":
		c.down = &hpccDown{at: w.time("instant in us", "us", 0, topology.LongestRun), ends: [2]int{h.node(w, "end of a link"), h.node(w, "end of a link")}}
	case "ENABLE_PFC":
		c.lossy = w.integer(key, 0, 1) == 0
	case "ENABLE_IRN":
		c.selective = w.integer(key, 0, 1) == 1
	case "LB_MODE":
		h.balance(w)
	default:
		return h.parameter(key, w)
	}
	return true
}

// hpccBalances are the values of LB_MODE in ConWeave's fork (run.py), and the routing of each, "" if rackfab does not have it.
var hpccBalances = map[string]struct{ name, routing string }{
	"0": {"ECMP", "ecmp"}, "2": {"DRILL", "drill"}, "3": {"CONGA", ""}, "6": {"LetFlow", "flowlet"}, "9": {"ConWeave", ""},
}

// balance reads LB_MODE.
func (h *hpcc) balance(w *words) {
	text := w.word("mode")
	of, known := hpccBalances[text]
	switch h.config.routing = of.routing; {
	case w.ended:
	case !known:
		h.note("%s:%d: LB_MODE %s is unknown: switches have ecmp, so that the run is another one", w.file, w.line, oneLine(text))
	case of.routing == "":
		h.note("%s:%d: LB_MODE %s is %s, which rackfab does not have: switches have ecmp, so that the run is another one", w.file, w.line, text, of.name)
	}
}

// stop reads SIMULATOR_STOP_TIME, in seconds. One after the longest run is no end.
func (h *hpcc) stop(w *words) {
	text := w.word("end")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > topology.LongestRun.Seconds() {
		h.note("%s:%d: ignored: SIMULATOR_STOP_TIME, later than %s", w.file, w.line, topology.LongestRun)
		return
	}
	t, err := unit.ParseTime(decimal(text) + "s")
	if !w.ended && (err != nil || t < unit.Nanosecond) {
		w.fault(w.file, w.line, "end %q, want %s or more, in seconds", text, unit.Nanosecond)
	}
	h.config.end = t
}

// mode reads CC_MODE.
func (h *hpcc) mode(w *words) {
	text := w.word("mode")
	h.config.scheme = hpccModes[text]
	switch {
	case w.ended:
	case text == "10":
		h.note("%s:%d: CC_MODE 10 is HPCC-PINT, which rackfab does not have: the scheme is hpcc", w.file, w.line)
	case h.config.scheme == "":
		h.note("%s:%d: CC_MODE %s is unknown: the scheme is pfc, without congestion control", w.file, w.line, oneLine(text))
		h.config.scheme = "pfc"
	}
}

// byRate reads a map: the number of its entries, and a rate in bit/s and a value for each.
func (h *hpcc) byRate(w *words, to map[unit.Rate]string, value func() string) {
	for range w.integer("the number of entries", 0, 1000) {
		rate := unit.Rate(w.integer("rate in bit/s", 1, int64(10000*unit.GigabitPerSec)))
		if to[rate] = value(); w.ended {
			return
		}
	}
}

// parameter reads the value of a scheme's parameter.
func (h *hpcc) parameter(key string, w *words) bool {
	for _, p := range hpccParameters {
		if p.key != key {
			continue
		}
		var value string
		switch {
		case strings.Contains(p.form, "{rate}"):
			value = w.rate(key).String()
		case strings.Contains(p.form, "{flag}"):
			value = strconv.FormatBool(w.integer(key, 0, 1) == 1)
		case strings.Contains(p.form, "us"):
			value = w.time(key, "us", 0, topology.LongestRun).String()
		default:
			value = w.word(key)
			if x, err := strconv.ParseFloat(value, 64); !w.ended && (err != nil || !(x >= 0 && x <= 1e9)) {
				w.fault(w.file, w.line, "%s %q, want a number", key, value)
			}
		}
		h.config.values[key] = value
		return true
	}
	return false
}

// noteParameters notes values that the scheme does not use.
func (h *hpcc) noteParameters(file string) {
	var unused []string
	for _, key := range slices.Sorted(maps.Keys(h.config.values)) {
		used := false
		for _, p := range hpccParameters {
			used = used || p.key == key && p.scheme == h.config.scheme
		}
		if !used {
			unused = append(unused, key)
		}
	}
	unused = append(unused, h.config.unusedMaps()...)
	if len(unused) > 0 {
		h.note("%s: not used by %s: %s", file, cmp.Or(h.config.scheme, "the scheme"), strings.Join(unused, ", "))
	}
}

// unusedMaps lists the maps of thresholds that the scheme does not use.
func (c *hpccConfig) unusedMaps() (list []string) {
	of := func(name string, values map[unit.Rate]string, schemes ...string) {
		if len(values) > 0 && !slices.Contains(schemes, c.scheme) {
			list = append(list, name)
		}
	}
	of("KMIN_MAP", c.kmin, "dcqcn", "dctcp")
	of("KMAX_MAP", c.kmax, "dcqcn")
	of("PMAX_MAP", c.pmax, "dcqcn")
	return list
}

// append writes the scheme, its parameters, and the defaults of the nodes.
func (c *hpccConfig) append(b []byte) []byte {
	if c.scheme != "" {
		b = fmt.Appendf(b, "scheme: %s\ncompare: [%[1]s]\n", c.name())
	}
	var values []string
	if preset := hpccPresets[c.scheme]; preset != "" {
		values = append(values, preset)
	}
	for _, p := range hpccParameters {
		if value, ok := c.values[p.key]; ok && p.scheme == c.scheme {
			form := strings.NewReplacer("{rate}", value, "{flag}", value, "{}us", value, "{}", value).Replace(p.form)
			values = append(values, form)
		}
	}
	if len(values) > 0 {
		b = fmt.Appendf(b, "schemes:\n  %s: {%s}\n", c.scheme, strings.Join(values, ", "))
	}
	return append(b, c.defaults()...)
}

// name returns the name of the scheme: DCQCN without PFC and with selective repeat is irn.
func (c *hpccConfig) name() string {
	if c.scheme == "dcqcn" && c.lossy && c.selective {
		return "irn"
	}
	return c.scheme
}

// defaults returns the settings of all nodes and links, "" if there are none.
func (c *hpccConfig) defaults() string {
	var nic, sw []string
	link := ""
	if c.payload > 0 {
		nic = append(nic, fmt.Sprintf("payload: %dB", c.payload))
		link = fmt.Sprintf("  link: {mtu: %dB}\n", max(1518, c.payload+frameHeaders))
	}
	if c.selective && c.name() != "irn" {
		nic = append(nic, "recovery: selective")
	}
	if c.buffer > 0 {
		sw = append(sw, fmt.Sprintf("buffer: %dMiB", c.buffer))
	}
	if c.lossy && c.name() != "irn" {
		sw = append(sw, "pfc: off")
	}
	if c.routing != "" {
		sw = append(sw, "routing: "+c.routing)
	}
	text := ""
	if len(nic) > 0 {
		text = fmt.Sprintf("  nic: {%s}\n", strings.Join(nic, ", "))
	}
	text += link
	if len(sw) > 0 {
		text += fmt.Sprintf("  switch: {%s}\n", strings.Join(sw, ", "))
	}
	if text == "" {
		return ""
	}
	return "defaults:\n" + text
}

// frameHeaders is enough for all headers of a data packet, with those of telemetry.
const frameHeaders = 250

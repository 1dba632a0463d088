package imports

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// htsimInt is the largest id of a flow, message, trigger or switch, and the largest size in bytes.
const htsimInt = 1<<31 - 1

// unnumbered is the number of a message whose msg has none, until the whole file is read.
const unnumbered = -1

// What a line of a connection matrix may begin with.
const (
	htsimHeader = "Nodes, Connections, Triggers, Failures"
	htsimForms  = "S->D, trigger or failure"
)

// read reads all lines and checks the counts of the header.
func (h *htsim) read(data []byte) {
	body := false
	for text := range bytes.Lines(data) {
		h.line++
		words := strings.Fields(string(text))
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		form := words[0]
		if strings.Contains(form, "->") {
			form = "S->D"
		}
		if slices.Contains([]string{"S->D", "trigger", "failure"}, form) && !body {
			body = true
			h.begin()
		}
		switch {
		case !body:
			h.count(words)
		case form == "S->D":
			h.flow(words)
		case form == "trigger":
			h.trigger(words[1:])
		case form == "failure":
			h.failure(words[1:])
		default:
			h.fault(h.file, h.line, "%q after the header, want %s", words[0], htsimForms)
		}
	}
	if !body {
		h.begin()
	}
	h.checkCount("Connections", len(h.flows))
	h.checkCount("Triggers", len(h.order))
	h.checkCount("Failures", len(h.failures))
	h.check()
}

// begin checks the header at its end.
func (h *htsim) begin() {
	if _, ok := h.header["Nodes"]; !ok {
		h.fault(h.file, max(h.line, 1), "no Nodes N in the header")
		h.header["Nodes"] = htsimCount{n: topology.MaxNodes - 1}
	}
}

// count reads a line of the header.
func (h *htsim) count(words []string) {
	if !slices.Contains(strings.Split(htsimHeader, ", "), words[0]) || len(words) != 2 {
		h.fault(h.file, h.line, "%q in the header, want %s, each with a number, or %s", strings.Join(words, " "), htsimHeader, htsimForms)
		return
	}
	if first, taken := h.header[words[0]]; taken {
		h.fault(h.file, h.line, "%s was given on line %d", words[0], first.line)
	}
	lo, hi := int64(0), int64(topology.MaxFlows)
	if words[0] == "Nodes" {
		lo, hi = 1, topology.MaxNodes-1
	}
	n, _ := h.number(words[0], words[1], lo, hi)
	h.header[words[0]] = htsimCount{n, h.line}
}

func (h *htsim) checkCount(key string, n int) {
	if c := h.header[key]; c.n != int64(n) {
		h.fault(h.file, max(c.line, 1), "%s %d, but the file has %d", key, c.n, n)
	}
}

// number reads an integer in a range. Otherwise it adds a fault and returns the least one.
func (h *htsim) number(what, text string, lo, hi int64) (n int64, ok bool) {
	return h.integer(h.file, h.line, what, text, lo, hi)
}

// pairs passes each key of a line with its value to set, which reports whether there is such a key. msg may be without a
// number, before another key or at the end.
func (h *htsim) pairs(words []string, keys string, set func(key, value string) bool) {
	seen := map[string]bool{}
	for ; len(words) >= 2 || len(words) == 1 && words[0] == "msg"; words = words[2:] {
		if words[0] == "msg" && (len(words) == 1 || unicode.IsLetter(rune(words[1][0]))) {
			words = slices.Insert(slices.Clone(words), 1, "")
		}
		switch {
		case seen[words[0]]:
			h.fault(h.file, h.line, "%s is given twice", words[0])
		case !set(words[0], words[1]):
			h.fault(h.file, h.line, "%q, want %s", words[0], keys)
			return
		}
		seen[words[0]] = true
	}
	if len(words) > 0 {
		h.fault(h.file, h.line, "%q without a value, want %s", words[0], keys)
	}
}

// flow reads "S->D [id I] [msg M] (start P | trigger K) size B [prio P] [send_done_trigger K]
// [recv_done_trigger K]".
func (h *htsim) flow(words []string) {
	f := htsimFlow{line: h.line}
	from, to, _ := strings.Cut(words[0], "->")
	last := h.header["Nodes"].n - 1
	source, okS := h.number("source", from, 0, last)
	target, okT := h.number("destination", to, 0, last)
	f.from, f.to = int(source), int(target)
	if okS && okT && f.from == f.to {
		h.fault(h.file, h.line, "host %d would send to itself", f.from)
	}
	sized := false
	h.pairs(words[1:], "id, msg, start, trigger, size, prio, send_done_trigger or recv_done_trigger", func(key, value string) bool {
		switch key {
		case "id":
			f.id, _ = h.number(key, value, 1, htsimInt)
		case "msg":
			if f.msg = unnumbered; value != "" {
				f.msg, _ = h.number(key, value, 1, htsimInt)
			}
		case "start":
			f.start, f.started = h.start(value), true
		case "trigger":
			f.trigger, _ = h.number(key, value, 1, htsimInt)
		case "size":
			size, _ := h.number(key, value, 0, htsimInt)
			f.size, f.endless, sized = unit.Bytes(size), size == 0, true
		case "prio":
			h.prio++
		case "send_done_trigger":
			f.done[sent], _ = h.number(key, value, 1, htsimInt)
		case "recv_done_trigger":
			f.done[received], _ = h.number(key, value, 1, htsimInt)
		default:
			return false
		}
		return true
	})
	h.require(sized, "no size")
	h.require(f.started || f.trigger > 0, "neither start nor trigger")
	h.require(!f.started || f.trigger == 0, "start and trigger, want one of them")
	h.require(f.trigger == 0 || f.id > 0, "trigger without id")
	h.require(f.msg == 0 || f.id > 0, "msg without id")
	h.require(!f.endless || !f.step(), "size 0 is a flow without end: it cannot have a trigger or be a message")
	if len(h.flows) < topology.MaxFlows {
		h.flows = append(h.flows, f)
	}
}

func (h *htsim) require(ok bool, what string) {
	if !ok {
		h.fault(h.file, h.line, "%s", what)
	}
}

// start reads the start of a flow, a decimal number. The simulator keeps the whole part.
func (h *htsim) start(text string) unit.Time {
	v, err := strconv.ParseFloat(text, 64)
	if whole := int64(v); err == nil && v >= 0 && v <= float64(topology.LongestRun/h.unit) {
		if v != float64(whole) {
			h.cut++
		}
		h.timed = h.timed || v > 0
		h.last = max(h.last, unit.Time(whole)*h.unit)
		return unit.Time(whole) * h.unit
	}
	hint := ""
	if h.unit == unit.Microsecond && err == nil && v > 0 && v <= float64(topology.LongestRun) {
		hint = "; if it is in ps: --start-unit ps of rackfab import htsim"
	}
	h.fault(h.file, h.line, "start %q, want a number from 0 to %d (in %s)%s", text, int64(topology.LongestRun/h.unit), h.unitName(), hint)
	return 0
}

// unitName returns the unit of start.
func (h *htsim) unitName() string {
	if h.unit == unit.Picosecond {
		return "ps"
	}
	return "us"
}

// failure reads "switch_type TOR|AGG|CORE switch_id I link_id J".
func (h *htsim) failure(words []string) {
	f := htsimFailure{line: h.line, switchN: -1, link: -1}
	h.pairs(words, "switch_type, switch_id and link_id", func(key, value string) bool {
		switch key {
		case "switch_type":
			if f.kind = value; !slices.Contains([]string{"TOR", "AGG", "CORE"}, value) {
				h.fault(h.file, h.line, "switch_type %q, want TOR, AGG or CORE", value)
			}
		case "switch_id":
			f.switchN, _ = h.number(key, value, 0, htsimInt)
		case "link_id":
			f.link, _ = h.number(key, value, 0, htsimInt)
		default:
			return false
		}
		return true
	})
	h.require(f.kind != "" && f.switchN >= 0 && f.link >= 0, "want switch_type, switch_id and link_id")
	h.failures = append(h.failures, f)
}

package scenariofile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/templates"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Template is a rack by template that a command writes into a scenario.
type Template struct {
	Name         string // as in topology.template
	Hosts        int    // called h0, h1, ...
	Nodes, Links int
	Rate         unit.Rate // that each host has if all of them send to the other end of the rack
	Delay        unit.Time // of the link with the longest one

	text     string   // as given
	topology string   // value of the key topology
	buffers  []string // switches with a larger buffer than the default, each with its settings
}

// TemplateForm is the form of the text that ParseTemplate reads.
const TemplateForm = "NAME[:KEY=VALUE,...]"

// ParseTemplate reads a template with its numbers, like "fat-tree:k=8,rate=400Gbps". Keys and values are those of
// the section topology of a scenario file. The error has a line per fault, with the template and the key.
func ParseTemplate(text string) (*Template, error) {
	name, list, some := strings.Cut(text, ":")
	if !slices.Contains(templates.Names(), name) {
		return nil, fmt.Errorf("template %q is unknown, want one of %s, and its numbers like fat-tree:k=8,rate=400Gbps", name, strings.Join(templates.Names(), ", "))
	}
	var faults []error
	t := &Template{Name: name, text: text, topology: "{template: " + name}
	if some {
		faults = t.read(strings.Split(list, ","))
	}
	t.topology += "}"
	// The buffer holds the headroom of any rack. Template.complete computes how much is needed.
	s, err := Parse("", fmt.Appendf(nil, "name: %s\nduration: 1ms\ndefaults: {switch: {buffer: %s}}\ntopology: %s\n", name, largest, t.topology))
	if err != nil {
		faults = append(faults, t.faults(err)...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	t.complete(s)
	return t, nil
}

// String returns the text that ParseTemplate has read.
func (t *Template) String() string { return t.text }

// read reads the numbers into the section.
func (t *Template) read(list []string) (faults []error) {
	allowed := templates.Keys(t.Name)[1:] // without the name
	seen := map[string]bool{}
	for _, text := range list {
		key, value, pair := strings.Cut(text, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !pair:
			faults = append(faults, t.fault("%q: want KEY=VALUE, with a key of %s", text, strings.Join(allowed, ", ")))
		case !slices.Contains(allowed, key):
			faults = append(faults, t.fault("%s: unknown key, want one of %s", key, strings.Join(allowed, ", ")))
		case seen[key]:
			faults = append(faults, t.fault("%s: given twice", key))
		case value == "" || strings.Trim(value, alphanumeric) != "":
			faults = append(faults, t.fault("%s: invalid value %q, want %s", key, value, find(templateFields, key).description()))
		default:
			seen[key] = true
			t.topology += ", " + key + ": " + value
		}
	}
	return faults
}

// alphanumeric are the characters of values. None of them has a meaning in YAML.
const alphanumeric = "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func (t *Template) fault(format string, args ...any) error {
	return fmt.Errorf("template "+t.Name+": "+format, args...)
}

// faults names the template and its keys in the faults of a scenario.
func (t *Template) faults(err error) (list []error) {
	var all *Faults
	if !errors.As(err, &all) {
		return []error{err}
	}
	for _, f := range all.List {
		if key := strings.TrimPrefix(strings.TrimPrefix(f.Key, templatePart), "."); key != "" {
			f.What = key + ": " + f.What
		}
		list = append(list, t.fault("%s", f.What))
	}
	return list
}

// complete takes the figures of the rack, and the buffers that its switches need beyond the default.
func (t *Template) complete(s *topology.Scenario) {
	t.Nodes, t.Links = len(s.Nodes), len(s.Links)
	slowest := s.Links[0].Rate
	for _, l := range s.Links {
		slowest, t.Delay = min(slowest, l.Rate), max(t.Delay, l.Delay)
	}
	for range s.NodesOf(topology.NIC) {
		t.Hosts++
	}
	ends := s.PortMap()
	share := float64(s.Links[ends[0][0].Link].Rate) / oversubscribed(s, ends)
	t.Rate = min(slowest, max(unit.Rate(share), slowest/1024))
	t.buffer(s, ends)
}

// buffer finds the switches that need more than the default buffer. Those of a kind, whose names differ by their
// number alone, get twice what the one with the most ports needs.
func (t *Template) buffer(s *topology.Scenario, ends [][]topology.End) {
	var kind string
	var names []string
	var most unit.Bytes
	end := func() {
		if most > topology.DefaultSwitch().Buffer {
			megabytes := (most + unit.Megabyte - 1) / unit.Megabyte
			t.buffers = append(t.buffers, fmt.Sprintf("%s: {buffer: %dMB}", topology.JoinNames(names), megabytes))
		}
		names, most = nil, 0
	}
	for i, n := range s.NodesOf(topology.Switch) {
		if k := strings.TrimRight(n.Name, "0123456789"); k != kind {
			end()
			kind = k
		}
		names, most = append(names, n.Name), max(most, min(2*buffered(&n.Switch, len(ends[i])), largest))
	}
	end()
}

// Append writes the rack to a scenario: its keys topology and, for // switches.
func (t *Template) Append(b []byte) []byte {
	b = fmt.Appendf(b, "topology: %s\n", t.topology)
	if len(t.buffers) > 0 {
		b = fmt.Appendf(b, "switches: # the default buffer is too small for the headroom of these\n  %s\n", strings.Join(t.buffers, "\n  "))
	}
	return b
}

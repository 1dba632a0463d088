package imports

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Layout is the rack of files that have none: hosts around one switch, whose links have this rate and delay, or a
// template.
type Layout struct {
	Rate     unit.Rate
	Delay    unit.Time
	template *scenariofile.Template // nil for one switch
}

// ByTemplate returns the layout of a template, whose first hosts are those of the files.
func ByTemplate(t *scenariofile.Template) Layout {
	const longer = 3 // a path has up to 6 links, and 2 around one switch
	return Layout{t.Rate, longer * t.Delay, t}
}

// holds returns an error if the rack cannot have that many hosts. what describes them.
func (l Layout) holds(hosts int, what string) error {
	if l.template == nil || hosts <= l.template.Hosts {
		return nil
	}
	return fmt.Errorf("%s, but template %s has %d hosts: want a template with at least %d", what, l.template, l.template.Hosts, hosts)
}

// append writes the rack with a number of hosts, from 1.
func (l Layout) append(b []byte, hosts int) []byte {
	if l.template != nil {
		return l.template.Append(b)
	}
	names := numbered("h", 0, hosts)
	return fmt.Appendf(b, "nics: {%s: }\nswitches: {s0: {buffer: %dB}}\nlinks:\n  - {endpoints: [%[1]s, s0], rate: %[3]s, delay: %[4]s}\n",
		names, bufferOf(hosts, l.Rate, l.Delay), l.Rate, l.Delay)
}

// load is what the steps of all ranks do.
type load struct {
	bytes, calc, steps float64 // bytes sent, seconds of calc, number of steps
}

// scenario writes the header and the rack.
func (l Layout) scenario(name, from string, hosts int, w *load) []byte {
	return l.append(l.header(name, from, w), hosts)
}

// header writes the keys above the rack. from names the files. The run is as long as all steps one after the
// other, at most 1000 s.
func (l Layout) header(name, from string, w *load) []byte {
	seconds := 2*w.bytes*8/float64(l.Rate) + w.calc + 8*w.steps*l.Delay.Seconds() + 0.001
	longest := unit.Time(math.Ceil(1e6*min(seconds, topology.LongestRun.Seconds()))) * unit.Microsecond
	b := fmt.Appendf(nil, "# Imported from %s.\nname: %s\nseed: 1", oneLine(from), name)
	return append(b, lines(longest)...)
}

// withoutSteps returns an error if the scenario of a rack has programs or collectives already.
func (f *File) withoutSteps(s *topology.Scenario) error {
	switch {
	case len(s.Programs) > 0:
		return fmt.Errorf("%s: has programs already", f.Name)
	case len(s.Collectives) > 0:
		return fmt.Errorf("%s: has collectives already", f.Name)
	}
	return nil
}

// withHosts parses the scenario of a rack, which must have a NIC h<i> for each of a number of hosts. does says what
// host i does.
func (f *File) withHosts(hosts int, does func(i int) string) (*topology.Scenario, error) {
	s, err := scenariofile.Parse(f.Name, f.Data)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, n := range s.Nodes {
		there[n.Name] = n.Kind == topology.NIC
	}
	for i := range hosts {
		if name := fmt.Sprintf("h%d", i); !there[name] {
			return nil, fmt.Errorf("%s: no NIC %s, which %s", f.Name, name, does(i))
		}
	}
	return s, nil
}

// text returns the text of a scenario, to which keys can be appended.
func (f *File) text() []byte { return append(bytes.TrimRight(slices.Clone(f.Data), "\n"), '\n') }

// bufferOf returns a buffer in bytes with room for the headroom of all ports of a switch, and more.
func bufferOf(ports int, rate unit.Rate, delay unit.Time) int64 {
	return int64(float64(12+ports) * (1e6 + float64(rate)/2*delay.Seconds()))
}

// numbered writes the names of count nodes from a number on: "h4..h7".
func numbered(prefix string, from, count int) string {
	ids := make([]int, count)
	for i := range ids {
		ids[i] = from + i
	}
	return strings.Join(ranges(prefix, ids), "")
}

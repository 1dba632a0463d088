package imports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Star is a rack of one switch: the rate and the delay of the links of all hosts.
type Star struct {
	Rate  unit.Rate
	Delay unit.Time
}

// append writes the rack with a number of hosts, from 1.
func (s Star) append(b []byte, hosts int) []byte {
	names := numbered("h", 0, hosts)
	return fmt.Appendf(b, "nics: {%s: }\nswitches: {s0: {buffer: %dB}}\nlinks:\n  - {endpoints: [%[1]s, s0], rate: %[3]s, delay: %[4]s}\n",
		names, bufferOf(hosts, s.Rate, s.Delay), s.Rate, s.Delay)
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

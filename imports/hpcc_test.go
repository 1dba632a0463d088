package imports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Files of the HPCC simulator: three hosts, two switches, of which the second has two links of
// different rates.
const (
	smallTopology = "5 2 4\n3 4\n0 3 25Gbps 0.001ms 0\n1 3 25Gbps 1us 0\n3 4 100Gbps 1000ns 0.001\n2 4 25Gbps 1us 0\n"
	smallFlows    = "3\n0 2 3 100 1000 2.000001000\n1 0 3 200 64000 2.000002000\n2 0 3 200 64000 2.000002000\n"
	smallConfig   = "ENABLE_QCN 1\nCC_MODE 1\nRATE_AI 50Mb/s\nU_TARGET 0.95\nRP_TIMER 900\nBUFFER_SIZE 16\nPACKET_PAYLOAD_SIZE 1000\n" +
		"KMAX_MAP 2 25000000000 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 400\nPMAX_MAP 2 25000000000 0.2 100000000000 0.2\n" +
		"SIMULATOR_STOP_TIME 2.004\nLINK_DOWN 100 3 4\n"
)

func imported(t *testing.T, topo, flows string, config *string) (*topology.Scenario, string) {
	t.Helper()
	var file *File
	if config != nil {
		file = &File{"config.txt", []byte(*config)}
	}
	out, err := HPCC(File{"topology.txt", []byte(topo)}, File{"flow.txt", []byte(flows)}, file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.Parse("imported.yaml", out.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	return s, strings.Join(out.Notes, "\n")
}

// IMP-4: Nodes and links have the numbers of the files, flows of port 200 are bursts, and time 0 is the
// start of the first flow.
func TestHPCCKeepsNumbers(t *testing.T) {
	s, notes := imported(t, smallTopology, smallFlows, nil)
	for i, want := range []string{"h0", "h1", "h2", "s3", "s4"} {
		if s.Nodes[i].Name != want {
			t.Errorf("node %d is %s, want %s", i, s.Nodes[i].Name, want)
		}
	}
	if l := s.Links[2]; l.A != 3 || l.B != 4 || l.Rate != 100*unit.GigabitPerSec || l.Delay != unit.Microsecond || l.Loss != (topology.Ways{0.001, 0.001}) {
		t.Errorf("link 2 is %+v", l)
	}
	if f := s.Flows[0]; f.From != 0 || f.To != 2 || f.Size != 1000 || f.Start != 0 || s.Bursting(f) {
		t.Errorf("flow 0 is %+v", f)
	}
	if len(s.Flows) != 3 || len(s.Bursts) != 1 || s.Bursts[0].Flows != 2 || s.Bursts[0].At != unit.Microsecond || !s.Bursting(s.Flows[2]) {
		t.Errorf("flows %+v, bursts %+v", s.Flows, s.Bursts)
	}
	if want := "time 0 of the scenario is 2.000001s of flow.txt"; !strings.Contains(notes, want) {
		t.Errorf("notes\n%s\nlack %q", notes, want)
	}
}

// IMP-4: The configuration selects scheme, parameters, thresholds, end and failing link, and the notes name
// all that it says besides.
func TestHPCCConfiguration(t *testing.T) {
	config := smallConfig
	s, notes := imported(t, smallTopology, smallFlows, &config)
	p := s.CC.DCQCN
	if s.Scheme != "dcqcn" || p.AI != 50*unit.MegabitPerSec || p.StepsPer != 0 || p.Timer != 900*unit.Microsecond {
		t.Errorf("scheme %s, %+v", s.Scheme, p)
	}
	if sw := s.Nodes[4].Switch; sw.Kmin != 400*unit.Kilobyte || sw.Kmax != 1600*unit.Kilobyte || sw.Pmax != 0.2 || sw.Buffer != 16<<20 {
		t.Errorf("s4 is %+v", sw)
	}
	if s.Duration != 2004*unit.Millisecond-2000*unit.Millisecond-unit.Microsecond {
		t.Errorf("duration %s", s.Duration)
	}
	if c := s.Changes; len(c) != 1 || c[0].Link != "s3--s4" || c[0].At != 99*unit.Microsecond {
		t.Errorf("changes %+v", c)
	}
	for _, want := range []string{"ignored: ENABLE_QCN", "not used by dcqcn: U_TARGET", "2 switches have links of several rates"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nlack %q", notes, want)
		}
	}
}

// The mode selects the scheme; the meaning of its keys depends on it.
func TestHPCCModes(t *testing.T) {
	for _, c := range []struct{ config, scheme, note string }{
		{"CC_MODE 3\nU_TARGET 0.9\nMI_THRESH 0\nRATE_AI 50Mb/s\nFAST_REACT 0", "hpcc", ""},
		{"CC_MODE 7\nRATE_AI 10Mb/s\nMIN_RATE 100Mb/s", "timely", ""},
		{"CC_MODE 8\nDCTCP_RATE_AI 615Mbps\nEWMA_GAIN 0.0625\nKMIN_MAP 2 25000000000 30 100000000000 120", "dctcp", ""},
		{"CC_MODE 10", "hpcc", "CC_MODE 10 is HPCC-PINT"},
		{"CC_MODE 4", "pfc", "CC_MODE 4 is unknown"},
	} {
		s, notes := imported(t, smallTopology, smallFlows, &c.config)
		if s.Scheme != c.scheme || !strings.Contains(notes, c.note) {
			t.Errorf("%q: scheme %s, notes\n%s", c.config, s.Scheme, notes)
		}
		switch p := s.CC; s.Scheme {
		case "hpcc":
			if c.note == "" && (p.HPCC.Eta != 0.9 || p.HPCC.MaxStage != 0 || p.HPCC.AI != 50*unit.MegabitPerSec || p.HPCC.FastReact) {
				t.Errorf("%+v", p.HPCC)
			}
		case "timely":
			if p.TIMELY.Delta != 10*unit.MegabitPerSec || p.TIMELY.MinRate != 100*unit.MegabitPerSec {
				t.Errorf("%+v", p.TIMELY)
			}
		case "dctcp":
			if sw := s.Nodes[4].Switch; p.DCTCP.AI != 615*unit.MegabitPerSec || sw.Step != 120*unit.Kilobyte {
				t.Errorf("%+v, step %s", p.DCTCP, sw.Step)
			}
		}
	}
}

// IMP-4: What the files say and the scenario does not have is noted: what begins only when the simulation has stopped, thresholds
// that the scheme does not use, and words after the last value.
func TestHPCCNotesWhatItLeavesOut(t *testing.T) {
	const flows = "3\n0 1 3 100 1000 2e0\n1 2 3 100 1000 2.00001\n2 0 3 200 1000 2.3e-6\n"
	for _, c := range []struct {
		topology, flows, config, note string
		names                         string // of the flows
		changes                       int
	}{
		{smallTopology, strings.Replace(flows, "2.3e-6", "2.001", 1), "SIMULATOR_STOP_TIME 0.200001e1\nLINK_DOWN 9 3 4", "flow.txt: 2 flows left out, at SIMULATOR_STOP_TIME of config.txt or later", "F0", 1},
		{smallTopology, flows, "SIMULATOR_STOP_TIME 2.0000100001\nLINK_DOWN 5000 3 4", "config.txt: ignored: LINK_DOWN at 2.005s, after the end of the run", "F0 F1 B2/h2/0", 0},
		{smallTopology, flows, "SIMULATOR_STOP_TIME 0.0000023\nLINK_DOWN 9 3 4", "config.txt: ignored: SIMULATOR_STOP_TIME, not after the first flow", "F0 F1 B2/h2/0", 1},
		{smallTopology, flows, "CC_MODE 3\nKMIN_MAP 1 25000000000 30\nPMAX_MAP 1 25000000000 0.2", "config.txt: not used by hpcc: KMIN_MAP, PMAX_MAP", "F0 F1 B2/h2/0", 0},
		{smallTopology, flows, "KMAX_MAP 1 25000000000 30", "config.txt: not used by the scheme: KMAX_MAP", "F0 F1 B2/h2/0", 0},
		{smallTopology, flows, "CC_MODE 8\nKMIN_MAP 1 25000000000 30\nKMAX_MAP 1 25000000000 90", "config.txt: not used by dctcp: KMAX_MAP", "F0 F1 B2/h2/0", 0},
		{smallTopology, strings.Replace(flows, "1 2 3", "1 2 2", 1), "", "flow.txt: 1 flow has another priority group than 3: all are in class 3 of the scenario", "F0 F1 B2/h2/0", 0},
		{smallTopology, strings.Replace(flows, "1 2 3 100", "1 2 3 300", 1), "", "flow.txt: 1 flow has a destination port other than 100 and 200: exports have 100", "F0 F1 B2/h2/0", 0},
		{smallTopology, flows, "CC_MODE 1 99", "config.txt:1: ignored: the rest of the line of CC_MODE", "F0 F1 B2/h2/0", 0},
		{smallTopology + "0 4 25Gbps 1us 0\n", flows, "", "topology.txt:7: ignored: the rest of the file, after the last link", "F0 F1 B2/h2/0", 0},
	} {
		s, notes := imported(t, c.topology, c.flows, &c.config)
		var names []string
		for _, f := range s.Flows {
			names = append(names, f.Name)
		}
		if !strings.Contains(notes, c.note) || strings.Join(names, " ") != c.names || len(s.Changes) != c.changes {
			t.Errorf("%q: flows %q, %d changes, notes\n%s\nlack %q", c.config, names, len(s.Changes), notes, c.note)
		}
	}
	if s, _ := imported(t, smallTopology, flows, nil); s.Flows[0].Start != 2*unit.Second-2300*unit.Nanosecond {
		t.Errorf("starts of 2e0 and 2.3e-6 s are %s apart", s.Flows[0].Start)
	}
}

// IMP-12: All faults of all files are reported, each with file and line.
func TestHPCCFaults(t *testing.T) {
	for _, c := range []struct{ topology, flows, config, want string }{
		{"", smallFlows, "", "topology.txt:1: the file ends before the number of nodes"},
		{"2 0 1\n0 1 fast 1us 2\n", "1\n0 0 3 100 0 -1\n", "CC_MODE 1\nRATE_AI x\n", `topology.txt:2: rate "fast", want 1Kbps to 10Tbps, like 100Gbps or 50Mb/s
topology.txt:2: error rate "2", want a number from 0 to 1
flow.txt:2: size "0", want an integer from 1 to 1000000000000
flow.txt:2: start "-1", want 0ps to 1000s
flow.txt:2: host 0 would send to itself
config.txt:2: RATE_AI "x", want 1Kbps to 10Tbps, like 100Gbps or 50Mb/s`},
		{strings.Replace(smallTopology, "2 4 25Gbps", "1 4 25Gbps", 1), "0\n", "", "topology.txt:6: host 2 has no link"},
		{smallTopology, "1\n3 0 3 100 1 2\n", "", "flow.txt:2: node 3 is a switch: want a host"},
		{smallTopology, "2\n0 1 3 100 1 2\n", "", "flow.txt:3: the file ends before source"},
		{smallTopology, smallFlows, "CC_MODE 1\nKMAX_MAP 2 25000000000 400\n100000000000 1600", "config.txt:2: the line ends before rate in bit/s"},
		{"99999999 0 0", "0", "", `topology.txt:1: the number of nodes "99999999", want an integer from 1 to 131072`},
	} {
		_, err := HPCC(File{"topology.txt", []byte(c.topology)}, File{"flow.txt", []byte(c.flows)}, &File{"config.txt", []byte(c.config)})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q, %q:\n%v\nwant\n%s", c.topology, c.flows, err, c.want)
		}
	}
	if _, err := HPCC(File{"t", []byte("1000 0 2000\n" + strings.Repeat("0 0 x y z\n", 2000))}, File{"f", nil}, nil); strings.Count(err.Error(), "\n") != maxFaults {
		t.Errorf("%d lines of faults, want %d and their number", strings.Count(err.Error(), "\n")+1, maxFaults)
	}
}

// IMP-12: No input panics, and what is accepted is a valid scenario.
func FuzzHPCC(f *testing.F) {
	f.Add(smallTopology, smallFlows, smallConfig)
	f.Add(smallTopology, "1\n0 1 3 100 1 2", "CC_MODE 3")
	f.Add("2 0 1 0 1 1Gbps 1us 0", "0", fmt.Sprintf("CC_MODE 8\nKMIN_MAP 1 %d 5", unit.GigabitPerSec))
	f.Fuzz(func(t *testing.T, topo, flows, config string) {
		if len(topo) > 1<<12 || strings.HasPrefix(topo, "1") && len(topo) > 5 && topo[4] >= '0' {
			return // large racks are slow, not wrong
		}
		out, err := HPCC(File{"t", []byte(topo)}, File{"f", []byte(flows)}, &File{"c", []byte(config)})
		if err == nil {
			if _, err := scenariofile.Parse("s", out.Scenario); err != nil {
				t.Errorf("%v\n%s", err, out.Scenario)
			}
		}
	})
}

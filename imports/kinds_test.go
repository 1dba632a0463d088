package imports

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// A file is recognised by its content or name. One that needs others is refused with the command that reads them.
func TestRecognise(t *testing.T) {
	const trace = "num_ranks 2\nrank 0 { send 5b to 1 }\nrank 1 { recv 5b from 0 }\n"
	flow := matrix("0->1 start 0 size 5")
	for _, c := range []struct{ name, text, what, err string }{
		{"ring.goal", trace, "a trace in GOAL", ""},
		{"trace", "// a trace\n\n/* of\n two ranks */ " + trace, "a trace in GOAL", ""},
		{"t.goal", "rank 0 {", "a trace in GOAL", "t.goal:1: want rank R {"},
		{"t.cm", flow, "a connection matrix of htsim", ""},
		{"matrix", "# a matrix\n" + flow, "a connection matrix of htsim", ""},
		{"matrix", "Connections 1\nNodes 2\n0->1 start 0 size 5", "a connection matrix of htsim", ""},
		{"t.cm", "nodes 4", "a connection matrix of htsim", "t.cm:1: \"nodes 4\" in the header"},
		{"tree", smallTree, "a topology of htsim", "tree is a topology of htsim, which needs others: rackfab import htsim --connections FILE --topology tree -o scenario.yaml"},
		{"t.topo", "", "a topology of htsim", "t.topo is a topology of htsim"},
		{"flow.txt", smallFlows, "a list of flows of the HPCC simulator", "rackfab import hpcc --topology FILE --flows flow.txt -o scenario.yaml"},
		{"flow.txt", "1\n0 1 3 100 1000 1e-05\n", "a list of flows of the HPCC simulator", "rackfab import hpcc --topology FILE --flows flow.txt -o scenario.yaml"},
		{"flow.txt", "1\n0 1 3 1000 2.0\n", "a list of flows of the HPCC simulator", "rackfab import hpcc --topology FILE --flows flow.txt -o scenario.yaml"},
		{"topology.txt", smallTopology, "a topology of the HPCC simulator", "rackfab import hpcc --topology topology.txt --flows FILE -o scenario.yaml"},
		{"config.txt", smallConfig, "a configuration of the HPCC simulator", "rackfab import hpcc --topology FILE --flows FILE --config config.txt -o scenario.yaml"},
		{"w.txt", string(smallWorkload.Data), "a workload of SimAI", ""},
		{"w.txt", "MICRO\r\n1\r\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 5 1", "a workload of SimAI", "w.txt:1: no all_gpus: want it, or a topology"},
		{"w.txt", "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 5\n1\n", "a workload of SimAI", `w.txt:1: policy "HYBRID_DLRM", want`},
		{"Spectrum-X.topo", twoServers, "a topology of SimAI", "Spectrum-X.topo is a topology of SimAI, which needs others: rackfab import simai FILE --topology Spectrum-X.topo -o scenario.yaml"},
		{"SimAI.conf", simaiConfig, "a configuration of the HPCC simulator", "SimAI.conf is a configuration of the HPCC simulator, which needs others"},
		{"x.yaml", "MICRO: 5\nname: x\n", "", ""},
		{"t.0.et.gz", "\x1f\x8b", "a Chakra execution trace of one rank", "rackfab import chakra --traces 'NAME.*.et' -o scenario.yaml"},
		{"t.0.et", "", "a Chakra execution trace of one rank", "rackfab import chakra --traces 'NAME.*.et' -o scenario.yaml"},
		{"trace", string(etFile("").Data), "a Chakra execution trace of one rank", "trace is a Chakra execution trace of one rank, which needs others"},
		{"trace", string(etBytes("").Data), "a Chakra execution trace of one rank", "trace is a Chakra execution trace of one rank, which needs others"},
		{"trace", string(pytorchFile("").Data), "a Chakra execution trace of one rank", "trace is a Chakra execution trace of one rank, which needs others"},
		{"empty", "", "", ""},
		{"x.yaml", "name: x\nnum_ranks: 3\n", "", ""},
		{"x.yaml", "# Nodes 4\nname: x\n", "", ""},
		{"numbers", "3 4\n", "", ""},
		{"capture", string(pcapFile(t, heardOf(t, twoWrites), 128)), "a capture", ""},
		{"capture.pcapng", string(pcapng(t, heardOf(t, twoWrites))), "a capture", ""},
		{"t.cm", string(pcapFile(t, nil, 128)), "a capture", "t.cm: no complete RoCEv2 request between two hosts in 0 frames"},
		{"capture.pcap", "\x1f\x8b", "", ""},
	} {
		what, made, err := Recognise(File{c.name, []byte(c.text)})
		if what != c.what || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s %q: %q, %v, want %q, %s", c.name, c.text, what, err, c.what, c.err)
		}
		if alone := c.what != "" && c.err == ""; alone != (made != nil) {
			t.Errorf("%s %q: made %v", c.name, c.text, made)
		} else if alone {
			if _, err := scenariofile.Parse("s", made.Scenario); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	for _, name := range scenariofile.Builtins() {
		if text, ok := scenariofile.Builtin(name); ok {
			if what, _, err := Recognise(File{name, text}); what != "" || err != nil {
				t.Errorf("%s is taken for %s: %v", name, what, err)
			}
		}
	}
}

// A file of any bytes is of no known kind, or makes a scenario that parses, or a clear
// error.
func FuzzRecognise(f *testing.F) {
	f.Add("a.goal", []byte("num_ranks 2\nrank 0 {\nl1: send 10b to 1\n}\nrank 1 {\nl1: recv 10b from 0\n}\n"))
	f.Add("a", []byte("# comment\nMICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8192 1\n"))
	f.Add("a.cm", []byte("Nodes 2\nConnections 1\n0->1 start 0 size 1000\n"))
	f.Add("a.et", []byte("\x07\n\x050.0.4"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if len(data) > 1<<10 || largeRack.Match(data) {
			return // large racks are slow, not wrong
		}
		what, made, err := Recognise(File{name, data})
		if err != nil || what == "" {
			return
		}
		if _, err := scenariofile.Parse("s", made.Scenario); err != nil {
			t.Errorf("%s: %v\n%s", what, err, made.Scenario)
		}
	})
}

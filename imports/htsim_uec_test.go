package imports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// driven imports a matrix of one flow among nodes as the UEC driver runs it with a command line.
func driven(t *testing.T, nodes int, arguments string) (*topology.Scenario, *Imported) {
	t.Helper()
	cm := fmt.Sprintf("Nodes %d\nConnections 1\n0->1 id 1 start 0 size 2000000\n", nodes)
	out, err := HTSim(File{"t.cm", []byte(cm)}, HTSimSetup{Start: unit.Microsecond, Arguments: &File{"arguments", []byte(arguments)}})
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	s, err := scenariofile.Parse("s", out.Scenario)
	if err != nil {
		t.Fatalf("%s: %v\n%s", arguments, err, out.Scenario)
	}
	return s, out
}

// uecFigures returns what the scenario of a driver says, as htsim prints it: packets of queues and thresholds
// without and with the one in service.
func uecFigures(s *topology.Scenario) map[string]string {
	sw, nic := &s.Nodes[len(s.Nodes)-1].Switch, s.Nodes[0].NIC
	link := s.Links[0]
	length := float64(nic.Payload + 106) // 102 bytes of headers of UET, and the FCS
	packets := func(bytes float64) string { return fmt.Sprintf("%.2f", bytes/length) }
	bdp := float64(routes.NewPaths(s, s.PortMap()).BDP())
	limit, lastHop := "5bdp", ""
	if sw.Queues.Limit != nil {
		limit, lastHop = packets(float64(sw.Queues.Limit.Bytes)), packets(float64(sw.Queues.LimitLastHop.Bytes))
	}
	figures := map[string]string{
		"wire": fmt.Sprint(length + float64(link.Overhead)), "queue": limit, "last hop": lastHop,
		"marks": packets(sw.Queues.Kmin*bdp) + " to " + packets(sw.Queues.Kmax*bdp), "policy": sw.Queues.TrimPolicy,
		"trimmed": fmt.Sprint(sw.Weights[5], " ", sw.Classes[5].QueueLimit), "entropies": fmt.Sprint(nic.Entropies, " ", nic.Entropy),
		"rtt": s.CC.NSCC.BaseRTT.String(), "preset": s.CC.NSCC.Preset, "rto": s.CC.MRC.RTO.String(), "ack": fmt.Sprintf("%.2f", float64(s.CC.MRC.AckBytes)/float64(nic.Payload)),
		"credit": fmt.Sprint(s.CC.RCCC.MTU, " ", s.CC.RCCC.Window, " ", s.CC.RCCC.BaseRTT, " ", s.CC.RCCC.Retry), "scheme": s.Scheme + fmt.Sprint(s.Compare),
	}
	return figures
}

// IMP-18: The scenario has the settings of htsim's UEC driver: 12 us of delay, 6 packets and 6 ACKs are a base RTT of 14.02272 us
// at 100 Gbit/s, a BDP of 43 packets, thresholds of 9 and 35, an RTO of 15 us and six queues. A queue has one packet less, as
// htsim counts that in service.
func TestUECSettings(t *testing.T) {
	s, out := driven(t, 16, "")
	want := map[string]string{
		"wire": "4150", "queue": "42.00", "last hop": "42.00", "marks": "9.00 to 35.00", "policy": "htsim", "trimmed": "0 591.115KB",
		"entropies": "64 scheme", "rtt": "14.02272us", "preset": "htsim", "rto": "100.656us", "ack": "4.00",
		"credit": "4.096KB 262.926KB 14.02272us 100.656us", "scheme": "nscc[nscc]",
	}
	if d := cmp.Diff(want, uecFigures(s)); d != "" {
		t.Error(d)
	}
	notes := []string{
		"t.cm: no topology: the fat tree of htsim's drivers, with 3 tiers and links of 100Gbps and 1us",
		"t.cm: as htsim's UEC driver: nscc, packets of 4150B, queues of 43 packets, one base RTT of 14.02272us; schemes over RoCEv2 cannot send these: --mtu 4148",
	}
	if d := cmp.Diff(notes, out.Notes); d != "" {
		t.Error(d)
	}
}

// IMP-18: Options of the driver change what they change there.
func TestUECOptions(t *testing.T) {
	plain, _ := driven(t, 16, "")
	before := uecFigures(plain)
	for _, c := range []struct{ arguments, want string }{
		{"./htsim_uec -sender_cc_only -o log -strat ecmp_host -conn_reuse", ""},
		{"-mtu 1500", "ack 11.00, credit 4.096KB 239.075KB 12.75072us 92.04us, marks 22.00 to 86.00, queue 106.00, rtt 12.75072us"},
		{"-q 100", "credit 4.096KB 262.926KB 14.02272us 214.2us, last hop 99.00, queue 99.00, rto 214.2us"},
		{"-q 1", "queue 1.06"},
		{"-queue_size_bdp_factor 2", "queue 85.00"},
		{"-paths 128", "entropies 128 scheme"},
		{"-paths 1", "entropies 64 flow"},
		{"-load_balancing_algo reps_legacy", "entropies 64 reps-legacy"},
		{"-load_balancing_algo oblivious -paths 32", "entropies 32 oblivious"},
		{"-sack_threshold 4150", "ack 1.00"},
		{"-linkspeed 400000", "marks 31.00 to 121.00, queue 150.00, rtt 12.50568us"},
		{"-hop_latency 0.5 -switch_latency 0.1", "rtt 9.02272us"},
		{"-tiers 2 -hop_latency 2", "rtt 17.34848us"},
		{"-ecn 10 20", "marks 10.00 to 20.00"},
		{"-receiver_cc_only", "scheme rccc[rccc]"},
		{"-sender_cc -receiver_cc", "scheme rccc[rccc]"},
		{"-receiver_cc_only -sender_cc_only", "scheme nscc[nscc]"},
		{"-disable_trim", "policy arriving, queue 214.00, trimmed 1 <nil>"},
		{"-trimsize 128", "trimmed 0 474.007KB"},
	} {
		nodes := 16
		if strings.Contains(c.arguments, "tiers 2") {
			nodes = 8
		}
		s, out := driven(t, nodes, c.arguments)
		got := uecFigures(s)
		for _, pair := range strings.Split(c.want, ", ") {
			key := ""
			for k := range got {
				if strings.HasPrefix(pair, k+" ") && len(k) > len(key) {
					key = k
				}
			}
			if want := strings.TrimPrefix(pair, key+" "); key != "" && got[key] != want {
				t.Errorf("%s: %s %s, want %s", c.arguments, key, got[key], want)
			}
		}
		if d := cmp.Diff(before, got); c.want == "" && d != "" || len(out.Notes) != 2 {
			t.Errorf("%s: %s, notes %q", c.arguments, d, out.Notes)
		}
	}
}

// Options of NSCC, of the run and of the largest window.
func TestUECOptionsOfSchemesAndRun(t *testing.T) {
	s, _ := driven(t, 16, "-target_q_delay 6.5 -qa_gate 2 -cwnd 50 -sleek -end 2500 -seed 13 -nodes 16 -receiver_cc")
	n := s.CC.NSCC
	if n.TargetDelay != 6500*unit.Nanosecond || n.Gate != 2 || !n.Credit || s.CC.MRC.Loss != "sleek" || s.Duration != 2500*unit.Microsecond || s.Seed != 13 {
		t.Errorf("%+v, %s, %s, seed %d", n, s.CC.MRC.Loss, s.Duration, s.Seed)
	}
	bdp := 14.02272e-6 * 100e9 / 8
	if got := n.MaxWindow * bdp / 4150; got < 49.99 || got > 50.01 || s.CC.RCCC.Window != 50*4150 {
		t.Errorf("window of %v packets, %s of credit", got, s.CC.RCCC.Window)
	}
}

// IMP-18: Without a topology the rack is the fat tree that the driver builds. Where it refuses the number of nodes, a line says so.
func TestHTSimWithoutATopology(t *testing.T) {
	for _, c := range []struct {
		nodes, switches, links int
		arguments              string
	}{{2, 1 + 4, 2 + 2 + 2, ""}, {16, 8 + 8 + 4, 16 + 16 + 16, ""}, {54, 18 + 18 + 9, 3 * 54, ""}, {128, 32 + 32 + 16, 3 * 128, ""}, {8, 4 + 2, 16, "-tiers 2"}, {32, 8 + 4, 64, "-tiers 2"}} {
		s, out := driven(t, c.nodes, c.arguments)
		if len(s.Nodes) != c.nodes+c.switches || len(s.Links) != c.links {
			t.Errorf("%d nodes %s: %d switches and %d links, want %d and %d", c.nodes, c.arguments, len(s.Nodes)-c.nodes, len(s.Links), c.switches, c.links)
		}
		if !strings.Contains(out.Notes[0], "no topology: the fat tree of htsim's drivers") {
			t.Errorf("notes %q", out.Notes)
		}
	}
	s, out := driven(t, 4, "")
	if len(s.Nodes) != 5 || out.Notes[0] != "t.cm: no topology: htsim's drivers refuse Nodes 4, as no fat tree has them; the hosts are around one switch" {
		t.Errorf("%d nodes, notes %q", len(s.Nodes), out.Notes)
	}
}

// IMP-18: Sizes of queues in a topology are those of csg-htsim's drivers; the UEC driver replaces them.
func TestHTSimDriverByQueues(t *testing.T) {
	queues := strings.Replace(smallTree, "Tier 1", "Queue_Up 100000\nTier 1", 1)
	for _, c := range []struct{ tree, driver, note, limit string }{
		{smallTree, "", "as htsim's UEC driver", "129.952KB"},
		{queues, "", "t.topo: the queues are those of Queue_Up and Queue_Down, as in csg-htsim: --driver csg", "100KB"},
		{queues, DriverCSG, "", "100KB"},
		{queues, DriverUEC, "t.topo: ignored: Queue_Up and Queue_Down", "129.952KB"},
		{smallTree, DriverCSG, "", "<nil>"},
	} {
		out, err := HTSim(File{"t.cm", []byte("Nodes 4\n")}, HTSimSetup{Topology: &File{"t.topo", []byte(c.tree)}, Start: unit.Microsecond, Driver: c.driver})
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenariofile.Parse("s", out.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Name == "tor0" })
		if got := fmt.Sprint(s.Nodes[i].Switch.Queues.Limit); got != c.limit || !strings.Contains(strings.Join(out.Notes, "\n"), c.note) || c.note == "" && len(out.Notes) > 0 {
			t.Errorf("%s: limit %s, want %s; notes %q", c.driver, got, c.limit, out.Notes)
		}
	}
}

// Failed links of the driver have a quarter of their rate: those to the first aggs, or the first links up of the first aggs.
func TestUECFailedLinks(t *testing.T) {
	for _, c := range []struct {
		arguments string
		nodes     int
		want      []string
	}{
		{"-failed 1 -tiers 2", 8, []string{"tor0--agg0", "tor1--agg0", "tor2--agg0", "tor3--agg0"}},
		{"-failed 1", 16, []string{"agg0--core0"}},
		{"-failed 3", 16, []string{"agg0--core0", "agg0--core2", "agg1--core1"}},
	} {
		s, out := driven(t, c.nodes, c.arguments)
		var slow []string
		for i, l := range s.Links {
			if l.Rate == 25*unit.GigabitPerSec {
				slow = append(slow, s.LinkName(i))
			}
		}
		slices.Sort(slow)
		if d := cmp.Diff(c.want, slow); d != "" || strings.Contains(strings.Join(out.Notes, "\n"), "in both directions") != (c.nodes == 16) {
			t.Errorf("%s: %s, notes %q", c.arguments, d, out.Notes)
		}
	}
}

// validation is a file of validation of the peer's form.
const validation = "connection_matrices/t.cm \n!Experiment One\n!Binary ./htsim_uec\n!Param -sender_cc_only\n!Param -end 1000\n!tailFCT 180\n" +
	"matrices/u.cm\n!Experiment Two\n!Param -end 2000\n!tailFCT 190\nmatrices/u.cm\n!Param -receiver_cc_only\n!Param -end 3000\n!FCT Uec_1_0 215\n"

// A run of a file of validation is that of the matrix, or the nth.
func TestUECArguments(t *testing.T) {
	for _, c := range []struct {
		matrix, text string
		n            int
		want         string // duration and scheme, or the error
	}{
		{"x/t.cm", validation, 0, "1ms nscc"},
		{"t.cm", validation, 3, "3ms rccc"},
		{"u.cm", validation, 2, "2ms nscc"},
		{"u.cm", validation, 0, "arguments:1: has 2 runs of u.cm among 3, want --experiment N with the number of one, from 1"},
		{"v.cm", validation, 0, "arguments:1: has 0 runs of v.cm among 3, want --experiment N with the number of one, from 1"},
		{"t.cm", validation, 4, "arguments:1: has 3 runs, want one of them as --experiment"},
		{"t.cm", "# options\n./htsim_uec -end 5000 \\\n", 0, `arguments:2: unknown option "\\", want one of htsim's UEC driver that the import reads`},
		{"t.cm", "-end", 0, "arguments:1: -end without a value"},
		{"t.cm", "-end 0 -mtu 10\n-paths 48 -linkspeed 1500 -load_balancing_algo hashx", 0, `arguments:1: -end: "0", want a number from 1 to 1e+09 (us)
arguments:1: -mtu: "10", want a number from 68 to 16447 (bytes)
arguments:2: -paths: "48", want a power of two
arguments:2: -linkspeed: "1500", want a multiple of 1000 (Mbit/s)
arguments:2: -load_balancing_algo: "hashx", want one of bitmap, reps, reps_legacy, oblivious, mixed`},
	} {
		out, err := HTSim(File{c.matrix, []byte("Nodes 2\n")}, HTSimSetup{Start: unit.Microsecond, Arguments: &File{"arguments", []byte(c.text)}, Experiment: c.n})
		got := fmt.Sprint(err)
		if err == nil {
			s, err := scenariofile.Parse("s", out.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprint(s.Duration, " ", s.Scheme)
		}
		if got != c.want {
			t.Errorf("%s, run %d: %s\nwant %s", c.matrix, c.n, got, c.want)
		}
	}
	_, out := driven(t, 16, "-strat ecmp_ar")
	if out.Notes[0] != "arguments:1: ignored: -strat ecmp_ar, the import has ecmp_host" {
		t.Errorf("notes %q", out.Notes)
	}
}

// Flags come before the options of a command line.
func TestUECFlagsBeforeArguments(t *testing.T) {
	var o HTSimOptions
	if err := o.Set(optMTU, "1500"); err != nil {
		t.Fatal(err)
	}
	out, err := HTSim(File{"t.cm", []byte("Nodes 16\n")}, HTSimSetup{Start: unit.Microsecond, Options: &o, Arguments: &File{"a", []byte("-mtu 9000 -q 10")}})
	if err != nil || !strings.Contains(string(out.Scenario), "payload: 1436B") || !strings.Contains(string(out.Scenario), "queue_limit: 13878B") {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
}

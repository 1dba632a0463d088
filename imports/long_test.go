package imports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// stored returns a file of testdata.
func stored(t *testing.T, name string) File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return File{name, data}
}

// IMP-6: A matrix of more than 50 s makes a valid scenario, and one whose starts are probably in ps is imported as told,
// with a line that says so.
func TestHTSimLongRuns(t *testing.T) {
	out, err := HTSim(stored(t, "long-start.cm"), HTSimSetup{Layout: &testLayout, Start: unit.Microsecond, Driver: DriverCSG})
	if err != nil || !strings.Contains(string(out.Scenario), "duration: 248.001") {
		t.Fatalf("%v, want a run of 248 s", err)
	}
	const want = "long-start.cm: the last start is at 248s, which in ps would be 248us: the file is probably for --start-unit ps"
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, want) {
		t.Errorf("notes %s\nwant %s", notes, want)
	}
	out, err = HTSim(stored(t, "long-start.cm"), HTSimSetup{Layout: &testLayout, Start: unit.Picosecond, Driver: DriverCSG})
	if err != nil || !strings.Contains(string(out.Scenario), "start: 248us") || strings.Contains(strings.Join(out.Notes, "\n"), "probably") {
		t.Errorf("in ps: %v, %q", err, out.Notes)
	}
	_, err = HTSim(File{"t.cm", []byte(matrix("0->1 start 2000000000 size 5"))}, HTSimSetup{Layout: &testLayout, Start: unit.Microsecond, Driver: DriverCSG})
	if err == nil || !strings.HasSuffix(err.Error(), "(in us); if it is in ps: --start-unit ps of rackfab import htsim") {
		t.Errorf("%v, want the option", err)
	}
}

// IMP-12: A capture of more than 50 s makes a valid scenario.
func TestPCAPLongRuns(t *testing.T) {
	p := &pcap{file: "c.pcap"}
	text := string(p.scenario(&pcapDemand{last: 60 * unit.Second}, testLayout))
	if !strings.Contains(text, "duration: 60.001s\nbin: 1ms\n") {
		t.Errorf("%s\nwant a run of 60.001 s with bins of 1 ms", text)
	}
}

// IMP-4: Flows of the HPCC simulator may start more than 50 s apart.
func TestHPCCLongRuns(t *testing.T) {
	flows := stored(t, "far-flow.txt")
	flows.Data = []byte("2\n" + strings.TrimPrefix(string(flows.Data), "1\n") + "1 0 3 100 1000 62\n")
	out, err := HPCC(stored(t, "far-topology.txt"), flows, nil)
	if err != nil || !strings.Contains(string(out.Scenario), "start: 60s") {
		t.Errorf("%v, want a start at 60 s", err)
	}
	if _, err := HPCC(stored(t, "far-topology.txt"), stored(t, "far-flow.txt"), nil); err != nil {
		t.Error(err)
	}
}

package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// withPandas returns a Python that has pandas and matplotlib.
func withPandas(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} { // the second one is Debian's
		if exec.Command(name, "-c", "import pandas, matplotlib").Run() == nil {
			return name
		}
	}
	lacking(t, "no Python with pandas and matplotlib: apt-get install python3-pandas python3-matplotlib")
	return ""
}

// TOOL-5: the lines of the guide for pandas print the figures of results.json, as the guide shows
// them, and draw a plot.
func TestPythonGuide(t *testing.T) {
	slowtest.Skip(t, "starts Python with pandas")
	python := withPandas(t)
	const guide = "../docs/guide/python.md"
	commands, shown := typed(t, guide), block(t, guide, "scheme,", 1)
	script := strings.Join(block(t, guide, "import", 1), "\n")
	t.Chdir(t.TempDir())
	for _, line := range commands {
		must(t, exec.Command(program, strings.Fields(line)[1:]...))
	}
	run := exec.Command(python, "-c", script)
	run.Env = append(os.Environ(), "MPLBACKEND=Agg", "MPLCONFIGDIR="+t.TempDir())
	printed := must(t, run)
	if want := strings.Join(shown, "\n"); printed != want {
		t.Errorf("the guide shows\n%s\nwhere its lines print\n%s", want, printed)
	}
	rows, err := csv.NewReader(strings.NewReader(printed)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	checkGoodputs(t, "runs/python", rows)
	plot, err := os.ReadFile("goodput.png")
	if err == nil {
		_, err = png.Decode(bytes.NewReader(plot))
	}
	if err != nil {
		t.Error(err)
	}
}

// checkGoodputs compares a table of goodputs by scheme and flow with the results of a run.
func checkGoodputs(t *testing.T, dir string, rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results struct {
		Runs []struct {
			Scheme string
			Flows  []struct {
				Name string
				BPS  float64 `json:"burst_goodput_bps"`
			}
		}
	}
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, run := range results.Runs {
		for _, flow := range run.Flows {
			for _, row := range rows[1:] {
				for i, name := range rows[0] {
					if row[0] != run.Scheme || name != flow.Name {
						continue
					}
					have, err := strconv.ParseFloat(row[i], 64)
					if compared++; err != nil || math.Abs(have-flow.BPS/1e9) > 0.005 {
						t.Errorf("%s of %s: %s Gbit/s, want %g", flow.Name, run.Scheme, row[i], flow.BPS/1e9)
					}
				}
			}
		}
	}
	if compared != 4 {
		t.Errorf("%d figures of results.json in %v, want 4", compared, rows)
	}
}

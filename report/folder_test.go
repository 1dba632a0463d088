package report

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

func TestFolderRoundTrip(t *testing.T) {
	f := sample(t, t.TempDir(), "pfc", "pcn")
	if err := f.Write(); err != nil {
		t.Fatal(err)
	}
	back, err := Read(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, back, cmpopts.IgnoreFields(Folder{}, "Scenario"), cmpopts.IgnoreUnexported(measure.RateSeries{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("written (-) and read back (+):\n%s", diff)
	}
	if !reflect.DeepEqual(f.Scenario, back.Scenario) {
		t.Error("the scenario differs")
	}
}

func TestManifestNamesTheCommandThatRepeatsTheRun(t *testing.T) {
	m := sample(t, "out", "pfc", "pcn").Manifest
	if want := "rackfab run out/scenario.yaml --bus memory --scheme pfc,pcn"; m.Again != want {
		t.Errorf("again: %q, want %q", m.Again, want)
	}
	if m.Rackfab != "v1.2.3" || m.Seed != 1 || m.Digests["pcn"] != "0000000000000002" {
		t.Errorf("%+v", m)
	}
}

// Every fault of a folder is one line that names the file.
func TestReadErrorsNameTheCause(t *testing.T) {
	replace := func(name, old, other string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), old, other, 1)
			if changed == string(text) {
				t.Fatalf("%s does not contain %q", name, old)
			}
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name   string
		damage func(*testing.T, string)
		want   string
	}{
		{"folder", remove("."), "DIR: no such folder"},
		{"results", remove(resultsFile), "DIR: not the folder of a run: it has no results.json"},
		{"series", remove(seriesFile), "DIR: not the folder of a run: it has no series.json"},
		{"scenario", remove(scenarioFile), "DIR: not the folder of a run: it has no scenario.yaml"},
		{"manifest", remove(manifestFile), "DIR: not the folder of a run: it has no manifest.json"},
		{"schema", replace(resultsFile, "results/v1", "results/v7"), `DIR/results.json: schema is "rackfab/results/v7", this version reads "rackfab/results/v1"`},
		{"no JSON", replace(resultsFile, "{", "["), "DIR/results.json: "},
		{"wrong type", replace(resultsFile, `"seed": 1`, `"seed": "one"`), "DIR/results.json: "},
		{"two values", replace(manifestFile, "}\n", "}\n{}"), "DIR/manifest.json: more than one value"},
		{"no run", replace(resultsFile, `"runs": [`, `"runs": [], "old": [`), "DIR/results.json: holds no run"},
		{"other scheme", replace(seriesFile, `"pcn"`, `"pcm"`), `DIR/series.json: no series of scheme "pcn"`},
		{"other bin", replace(seriesFile, `"bin_ps":50000000`, `"bin_ps":1`), "DIR/series.json: pcn: bin_ps is 1, by scenario.yaml it is 50000000"},
		{"other time", replace(resultsFile, `"fabric_time_ps": 2000000000`, `"fabric_time_ps": 3`), "DIR/results.json: pcn: fabric_time_ps is 3, by scenario.yaml it is 2000000000"},
		{"other flows", replace(resultsFile, `"flows": [`, `"flows": [], "old": [`), "DIR/results.json: pcn: number of flows is 0, by scenario.yaml it is 2"},
		{"bad scenario", replace(scenarioFile, "duration:", "durations:"), "DIR/scenario.yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := sample(t, filepath.Join(t.TempDir(), "run"), "pcn")
			if err := f.Write(); err != nil {
				t.Fatal(err)
			}
			test.damage(t, f.Dir)
			_, err := Read(f.Dir)
			if err == nil {
				t.Fatal("it was read")
			}
			if got := strings.ReplaceAll(err.Error(), f.Dir, "DIR"); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.name != "bad scenario" && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.HasSuffix(err.Error(), "file: not a folder") {
		t.Errorf("a file: %v", err)
	}
}

// Any results and series are either rejected or drawn; none causes a panic.
func FuzzRead(f *testing.F) {
	scenario, err := scenariofile.Marshal(sample(f, "out").Scenario)
	if err != nil {
		f.Fatal(err)
	}
	const results = `{"schema": "rackfab/results/v1", "runs": [{"scheme": "pcn", "fabric_time_ps": 2000000000, "flows": [{}, {}],
		"pauses": [{"link": "s0->h0"}], "burst": {"flows": 1, "start_ps": 5, "end_ps": 90000000}}]}`
	f.Add([]byte(results), []byte(`{"pcn": {"bin_ps": 50000000, "delivered_bytes": [{"name": "F0", "bins": [1, 2]}],
		"pause_frames": [{"link": "s0->h0", "bins": [3]}], "rate_bps": [{"name": "F0", "bins_bps": [4, 5, 6]}]}}`))
	f.Fuzz(func(t *testing.T, results, series []byte) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{resultsFile: results, seriesFile: series, scenarioFile: scenario, manifestFile: []byte("{}")} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		folder, err := Read(dir)
		if err != nil {
			return
		}
		Figures([]*Folder{folder})
		TableOf(folder.Scenario, folder.Results)
	})
}

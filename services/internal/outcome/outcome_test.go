package outcome

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Every figure and every value of the series comes back as it was, also if the outcome
// has several parts.
func TestOutcomeIsReadBack(t *testing.T) {
	most := 0
	for _, name := range []string{"pcn-16to2", "leaf-spine", "cbrc-waste", "get-incast"} {
		file, ok := scenariofile.Builtin(name)
		if !ok {
			t.Fatalf("no scenario %s", name)
		}
		s, err := scenariofile.Parse(name, file)
		if err != nil {
			t.Fatal(err)
		}
		s.Duration, s.Bin = unit.Millisecond, 100*unit.Nanosecond
		want, err := lab.Measure(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, series := range []*measure.RunSeries{want.Series, nil} {
			want.Series = series
			parts, err := Write(want)
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, len(parts))
			got, err := Read(bytes.Join(parts, nil))
			if err != nil {
				t.Fatal(err)
			}
			for _, pair := range [][2]any{{want, got}, {want.Series, got.Series}} {
				if diff := cmp.Diff(written(t, pair[0]), written(t, pair[1])); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
	}
	if most < 3 {
		t.Errorf("at most %d parts, want several", most)
	}
}

// written returns the text of a value in results.json or series.json.
func written(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDamagedOutcomeIsAnError(t *testing.T) {
	if _, err := Read([]byte(`{"run":{"digest":`)); err == nil {
		t.Error("half an outcome was read")
	}
}

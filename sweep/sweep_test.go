package sweep

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// planned returns the planned sweep of a grid with its cells in the store.
func planned(t testing.TB, g Grid, store Store) *Sweep {
	t.Helper()
	s, err := Plan(t.Context(), g, store, 2)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// swept runs the missing cells and returns their number.
func swept(t testing.TB, g Grid, store Store) (*Sweep, int) {
	t.Helper()
	s := planned(t, g, store)
	if err := s.Run(t.Context(), 2, inMemory); err != nil {
		t.Fatal(err)
	}
	return s, s.Missing()
}

// inMemory is a Cell that runs in this process.
func inMemory(ctx context.Context, _ int, s *topology.Scenario) (*measure.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return lab.Measure(s)
}

func text(t testing.TB, s *Sweep) string {
	t.Helper()
	table, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteCSV(&b, table); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFinishedCellIsNotRunAgain(t *testing.T) {
	store := Store{t.TempDir(), "v1"}
	g := grid(t, "switch.xoff=20KB,30KB", "scheme=pfc,pcn")
	first, ran := swept(t, g, store)
	if ran != 4 {
		t.Fatalf("%d cells ran, want 4", ran)
	}
	for cell := range first.Cells() {
		scenario, err := first.Scenario(cell)
		if err != nil {
			t.Fatal(err)
		}
		run, err := lab.Measure(scenario)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := first.Outcome(cell); err != nil || kept.Digest != run.Digest || kept.Scheme != g.Settings(cell)[1].Value {
			t.Errorf("cell %d: %v, %v; a run of its scenario gives %s", cell, kept, err, run.Digest)
		}
	}
	if again, ran := swept(t, g, store); ran != 0 || text(t, again) != text(t, first) {
		t.Errorf("%d of 4 finished cells ran again; the tables:\n%s\n%s", ran, text(t, first), text(t, again))
	}
	// A wider grid runs only the new cells.
	if _, ran := swept(t, grid(t, "switch.xoff=20KB,30KB,40KB", "scheme=pfc,pcn"), store); ran != 2 {
		t.Errorf("%d cells ran for a third value, want 2", ran)
	}
	// A different spelling of a value is the same cell.
	if _, ran := swept(t, grid(t, "switch.xoff=20000B", "scheme=pfc"), store); ran != 0 {
		t.Errorf("%d cells ran for another spelling", ran)
	}
}

// A stored cell does not depend on the engine that ran it.
func TestStoredCellHasNoCosts(t *testing.T) {
	g := grid(t, "switch.xoff=20KB")
	var cells [2][]byte
	for i := range cells {
		store := Store{t.TempDir(), "v1"}
		s := planned(t, g, store)
		err := s.Run(t.Context(), 1, func(ctx context.Context, cell int, s *topology.Scenario) (*measure.Run, error) {
			run, err := inMemory(ctx, cell, s)
			run.Wall, run.CPU, run.Cores, run.Groups, run.Processes = float64(i), float64(i), i, i, i
			run.Envelopes, run.EnvelopeFaults = int64(i), measure.EnvelopeFaults{Resent: int64(i)}
			return run, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if cells[i], err = os.ReadFile(store.path(s.keys[0])); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(cells[0], cells[1]) {
		t.Errorf("the cells differ:\n%s\n%s", cells[0], cells[1])
	}
}

func TestChangedScenarioOrBuildRunsAgain(t *testing.T) {
	store := Store{t.TempDir(), "v1"}
	g := grid(t, "switch.xoff=20KB,30KB")
	swept(t, g, store)
	changed := g
	changed.Data = bytes.Replace(g.Data, []byte("size: 64KB"), []byte("size: 65KB"), 1)
	if _, ran := swept(t, changed, store); ran != 2 {
		t.Errorf("%d cells ran for a changed scenario, want 2", ran)
	}
	changed.Data = append([]byte("# a comment changes nothing\n"), g.Data...)
	if _, ran := swept(t, changed, store); ran != 0 {
		t.Errorf("%d cells ran for a comment", ran)
	}
	if _, ran := swept(t, g, Store{store.Dir, "v2"}); ran != 2 {
		t.Errorf("%d cells ran for another build, want 2", ran)
	}
}

func TestKilledSweepResumes(t *testing.T) {
	store := Store{t.TempDir(), "v1"}
	g := grid(t, "switch.xoff=20KB,25KB,30KB,35KB", "seed=1,2")
	s := planned(t, g, store)
	ctx, stop := context.WithCancel(t.Context())
	var done atomic.Int64
	err := s.Run(ctx, 1, func(ctx context.Context, cell int, s *topology.Scenario) (*measure.Run, error) {
		run, err := inMemory(ctx, cell, s)
		if done.Add(1) == 3 {
			stop()
		}
		return run, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	finished := 8 - planned(t, g, store).Missing()
	if finished < 2 || finished > 3 {
		t.Fatalf("%d cells are finished after 3 ended", finished)
	}
	// A file truncated by a crash is not a finished cell.
	files, err := filepath.Glob(filepath.Join(store.Dir, "*.json"))
	if err != nil || len(files) != finished {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0], 20); err != nil {
		t.Fatal(err)
	}
	resumed, ran := swept(t, g, store)
	if ran != 8-finished+1 {
		t.Errorf("%d cells ran, want %d", ran, 8-finished+1)
	}
	whole, _ := swept(t, g, Store{t.TempDir(), "v1"})
	if diff := cmp.Diff(text(t, whole), text(t, resumed)); diff != "" {
		t.Errorf("the resumed sweep differs from an uninterrupted one:\n%s", diff)
	}
}

func TestPlanRejectsAnInvalidGrid(t *testing.T) {
	g := grid(t, "h0.payload=1000B", "link.mtu=1100B,200B")
	if _, err := Plan(t.Context(), g, Store{t.TempDir(), "v1"}, 2); err == nil || !strings.Contains(err.Error(), "payload of 1000B") {
		t.Errorf("got %v", err)
	}
}

// CSV and Parquet contain the same columns, in the same order, and the same values.
func TestCSVAndParquetAgree(t *testing.T) {
	s, _ := swept(t, grid(t, "switch.xoff=20KB,60KB", "link.delay=1us,1500ns", "F0.size=endless,30KB", "scheme=pfc,pcn"), Store{t.TempDir(), "v1"})
	records, err := csv.NewReader(strings.NewReader(text(t, s))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteParquet(&b, table); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, readParquet(t, b.Bytes())); diff != "" {
		t.Error(diff)
	}
	if len(records) != 17 {
		t.Errorf("%d lines for 16 cells", len(records))
	}
	header := strings.Join(records[0], " ")
	for _, want := range []string{"switch.xoff_bytes link.delay_us F0.size scheme tree_ms", "F0.goodput_gbps", "burst.fct_p99_ms", "s0->h1.pause_frames s0->h1.paused_ms"} {
		if !strings.Contains(header, want) {
			t.Errorf("no %q in the header %s", want, header)
		}
	}
	if want := []string{"60000", "1.5", "30KB", "pcn"}; !cmp.Equal(records[16][:4], want) {
		t.Errorf("the last row begins with %v, want %v", records[16][:4], want)
	}
}

// readParquet returns the file as the records of a CSV file.
func readParquet(t *testing.T, data []byte) [][]string {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var header []string
	for _, field := range f.Schema().Fields() {
		header = append(header, field.Name())
	}
	lines := [][]string{header}
	for _, group := range f.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 5)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				lines = append(lines, spelt(row))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

func spelt(row parquet.Row) []string {
	line := make([]string, len(row))
	for i, v := range row {
		switch v.Kind() {
		case parquet.Double:
			line[i] = strconv.FormatFloat(v.Double(), 'g', -1, 64)
		case parquet.Int64:
			line[i] = strconv.FormatInt(v.Int64(), 10)
		default:
			line[i] = string(v.ByteArray())
		}
	}
	return line
}

func TestTableNeedsEveryCell(t *testing.T) {
	s := planned(t, grid(t, "switch.xoff=20KB"), Store{t.TempDir(), "v1"})
	if _, err := s.Table(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A figure has a point per value on X, a panel per value of the second setting, and a
// line per scheme. Seeds are averaged.
func TestFigureLaysOutTheAxes(t *testing.T) {
	s, _ := swept(t, grid(t, "link.delay=2us,1us,1500ns", "switch.xoff=20KB,60KB", "scheme=pfc,pcn", "seed=1,2"), Store{t.TempDir(), "v1"})
	f, err := s.Figure("F0.goodput_gbps")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Rows) != 2 || f.Rows[1][0].Title != "switch.xoff 60KB" || f.XLabel != "link.delay [us]" || f.YLabel != "F0.goodput [Gbit/s]" {
		t.Fatalf("%+v", f)
	}
	lines := f.Rows[0][0].Lines
	if len(lines) != 2 || lines[0].Name != "pfc" || lines[1].Name != "pcn" || !cmp.Equal(lines[1].X, []float64{1, 1.5, 2}) {
		t.Fatalf("%+v", lines)
	}
	var sum float64
	for cell := range s.Cells() {
		set := s.Settings(cell)
		if set[0].Value != "1us" || set[1].Value != "60KB" || set[2].Value != "pcn" {
			continue
		}
		run, err := s.Outcome(cell)
		if err != nil {
			t.Fatal(err)
		}
		sum += float64(run.Flows[0].Goodput) / 1e9
	}
	if got := f.Rows[1][0].Lines[1].Y[0]; got != sum/2 || got == 0 {
		t.Errorf("pcn at 1us and 60KB: %v, the mean is %v", got, sum/2)
	}
}

func TestFigureOfOneCellAndOfTexts(t *testing.T) {
	s, _ := swept(t, grid(t, "switch.xoff=20KB"), Store{t.TempDir(), "v1"})
	f, err := s.Figure("h0->s0.pause_frames") // a link without PAUSE
	if err != nil || len(f.Rows[0][0].Lines[0].Y) != 1 || f.Rows[0][0].Lines[0].Y[0] != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	s, _ = swept(t, grid(t, "F0.size=endless,30KB"), Store{t.TempDir(), "v1"})
	if f, err = s.Figure("tree_ms"); err != nil || f.XLabel != "F0.size: 1 endless, 2 30KB" || !cmp.Equal(f.Rows[0][0].Lines[0].X, []float64{1, 2}) {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := s.Drawable("digest"); err == nil || !strings.Contains(err.Error(), "want one of tree_ms, paused_outside_ms") {
		t.Errorf("got %v", err)
	}
}

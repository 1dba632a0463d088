package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// dashboard is the part of Grafana's dashboard that has queries.
type dashboard struct {
	Time       struct{ From, To string }
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// queried is an answer of Prometheus' API.
type queried struct {
	Status, Error string
	Data          json.RawMessage
}

// ask calls Prometheus' API at a page, and decodes the data of the answer.
func ask(t *testing.T, page, path string, form url.Values, data any) {
	t.Helper()
	response, err := http.PostForm("http://"+page+"/api/v1/"+path, form) //nolint:noctx // the server answers at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	var out queried
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || out.Status != "success" {
		t.Fatalf("%s %v: %v %s", path, form, err, text)
	}
	if err := json.Unmarshal(out.Data, data); err != nil {
		t.Fatal(err)
	}
}

// pageOf starts a collector at free ports, and returns the address of its page.
func pageOf(t *testing.T, args []string) string {
	t.Helper()
	var ready struct{ Page string }
	line := serve(t, append(args, "--listen", "127.0.0.1:0", "--otlp-http", "off", "--http", "127.0.0.1:0")...)
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Page == "" {
		t.Fatal(line, err)
	}
	return ready.Page
}

// TOOL-4: the commands of the guide, with those of its recipes for Jaeger and Grafana, run. Then every
// variable and every panel of the dashboard has data for their run, or for one with drops, and
// promtool of Prometheus gets the figures of `rackfab query`.
func TestGrafana(t *testing.T) {
	text, err := os.ReadFile("../deploy/grafana/rackfab.json")
	if err != nil {
		t.Fatal(err)
	}
	lines := typed(t, "../docs/guide/tools.md")
	for _, recipe := range []string{"docker run .*/jaeger$", "rackfab traces .*--format jaeger ", "rackfab collector --forward ", "rackfab collector --data "} {
		if !slices.ContainsFunc(lines, regexp.MustCompile(recipe).MatchString) {
			t.Errorf("the guide has no command %q", recipe)
		}
	}
	t.Chdir(t.TempDir())
	must(t, exec.Command(program, "run", "pcn-16to2", "--scheme", "irn", "--bus", "memory", "--duration", "2ms", "--telemetry", "--output", "runs/drops"))
	page, queue := "", ""
	for _, line := range lines {
		args := unquoted(line)[1:]
		switch {
		case strings.HasPrefix(line, "docker"): // Jaeger
		case args[0] == "collector":
			if queue == "" { // the run is there, and no collector has it open
				queue = must(t, exec.Command(program, "query", "rackfab.port.queue.max", "--node", "s1", "--peer", "r1", "--to", "2ms", "--format", "json", "--data", "runs/tools"))
			}
			page = pageOf(t, args)
		default:
			must(t, exec.Command(program, args...))
		}
	}
	if page == "" {
		t.Fatalf("the guide starts no collector: %q", lines)
	}
	t.Run("dashboard", func(t *testing.T) {
		checkDashboard(t, page, pageOf(t, []string{"collector", "--data", "runs/drops/telemetry"}), text)
	})
	t.Run("promtool", func(t *testing.T) { checkPromtool(t, page, queue) })
}

// values asks for the values that a query of a variable lists: label_values(SELECTOR, LABEL).
func values(t *testing.T, page, definition string) (list []string) {
	t.Helper()
	m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(definition)
	if m == nil {
		t.Fatalf("%q is not label_values(SELECTOR, LABEL)", definition)
	}
	ask(t, page, "label/"+m[2]+"/values", url.Values{"match[]": {m[1]}}, &list)
	return list
}

// checkDashboard checks the dashboard in text at the page of a run, and its panel of drops at that
// of a run with drops.
func checkDashboard(t *testing.T, page, drops string, text []byte) {
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	replace := []string{"$__interval", "50s"}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		list := values(t, page, strings.NewReplacer(replace...).Replace(v.Definition))
		if len(list) == 0 {
			t.Errorf("variable %s has no values", v.Name)
		}
		for i := range list {
			list[i] = regexp.QuoteMeta(list[i])
		}
		replace = append(replace, "$"+v.Name, "("+strings.ReplaceAll(strings.Join(list, "|"), `\`, `\\`)+")")
	}
	names := []string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			names = append(names, p.Title)
			expr := strings.NewReplacer(replace...).Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: no value for a variable in %s", p.Title, expr)
			}
			checkPanel(t, page, p.Title, expr)
			if p.Title == "Dropped frames" {
				all := strings.NewReplacer(replace[:2]...).Replace(regexp.MustCompile(`"\$\w+"`).ReplaceAllString(target.Expr, `".+"`))
				if schemes := schemesAbove0(t, drops, all); !schemes["irn"] {
					t.Errorf("%s shows no drops of irn\n%s", p.Title, all)
				}
			}
		}
	}
	if len(names) < 8 {
		t.Errorf("panels %q", names)
	}
}

// ranged is a series of a query over a range.
type ranged struct {
	Metric map[string]string
	Values [][2]any
}

// overRange evaluates an expression over the first 2 ms of a run.
func overRange(t *testing.T, page, expr string) []ranged {
	t.Helper()
	var out struct{ Result []ranged }
	ask(t, page, "query_range", url.Values{"query": {expr}, "start": {"2020-01-01T00:00:00Z"}, "end": {"2020-01-01T00:33:20Z"}, "step": {"50"}}, &out)
	return out.Result
}

// schemesAbove0 returns the schemes for which an expression has a value above 0.
func schemesAbove0(t *testing.T, page, expr string) map[string]bool {
	t.Helper()
	schemes := map[string]bool{}
	for _, s := range overRange(t, page, expr) {
		if slices.ContainsFunc(s.Values, func(v [2]any) bool { return v[1] != "0" }) {
			schemes[s.Metric["scheme"]] = true
		}
	}
	return schemes
}

// checkPanel checks that an expression has a value above 0, for both schemes. No frame is
// dropped in this run.
func checkPanel(t *testing.T, page, title, expr string) {
	t.Helper()
	schemes := schemesAbove0(t, page, expr)
	switch {
	case title == "Dropped frames":
		if all := overRange(t, page, expr); len(all) != 1 || len(all[0].Values) != 41 || schemes[""] {
			t.Errorf("%s: %v", title, all)
		}
	case title == "Marked frames" && schemes["pcn"]: // pfc marks nothing
	case !schemes["pfc"] || !schemes["pcn"]:
		t.Errorf("%s has values above 0 for %v\n%s", title, schemes, expr)
	}
}

// checkPromtool compares the points that promtool gets with those of `rackfab query`: one
// per bin, 0 in those without a point.
func checkPromtool(t *testing.T, page, printed string) {
	promtool := installed(t, "apt-get install prometheus", "promtool")
	var stored rackfabv1.QuerySeriesResponse
	if err := protojson.Unmarshal([]byte(printed), &stored); err != nil || len(stored.GetSeries()) != 1 {
		t.Fatal(err, printed)
	}
	const bin, bins, epoch = 50_000_000, 40, 1577836800
	points := [bins]float64{}
	for i, at := range stored.GetSeries()[0].GetTimesPs() {
		points[at/bin] = stored.GetSeries()[0].GetValues()[i]
	}
	var want strings.Builder
	for i, v := range points {
		fmt.Fprintf(&want, "\n%.0f @[%d]", v, epoch+50*(i+1))
	}
	out := must(t, exec.Command(promtool, "query", "range", "--start", strconv.Itoa(epoch+50), "--end", strconv.Itoa(epoch+50*bins), "--step", "50s",
		"http://"+page, fmt.Sprintf(`rackfab_port_queue_max_bytes{node="s1",peer="r1",run=%q}`, stored.GetRun())))
	if _, have, _ := strings.Cut(out, "=>"); have != want.String() || len(stored.GetSeries()[0].GetValues()) < 10 {
		t.Errorf("promtool prints\n%s\nwant%s", out, &want)
	}
}

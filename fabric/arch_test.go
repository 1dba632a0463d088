package fabric_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/rackfab/rackfab"

// A rule lists the permitted imports of a directory of the module and everything below
// it. The rule with the longest matching path applies to a file.
type rule struct {
	dir  string
	ours []string // permitted packages of this module; "x/..." is x and all below
	mods []string // permitted other modules; nil permits all
	why  string
}

var none = []string{}

// rules lists the permitted imports, from the innermost packages outwards.
var rules = []rule{
	{"fabric/unit", none, none, "every package may import unit, so it imports no other package of this module"},
	{"fabric/splitmix", none, none, "a hash knows nothing about its input"},
	{"fabric/ring", none, none, "a FIFO queue knows nothing about its items"},
	{"fabric/workload", []string{"fabric/splitmix", "fabric/unit"}, none, "workload computes sizes and times; it does not know senders"},
	{"fabric/frame", []string{"fabric/unit"}, none, "frame knows byte offsets; queues, flows and schemes know frames, not the reverse"},
	{"fabric/cc", []string{"fabric/credit", "fabric/ring", "fabric/unit"}, none, "an algorithm takes numbers and returns a rate, so that it can be compared with its paper alone"},
	{"fabric/credit", []string{"fabric/ring", "fabric/unit"}, none, "credit is a number; frames carry it and NICs act on it"},
	{"fabric/agenda", []string{"fabric/unit"}, none, "agenda orders instants and does not know their purpose"},
	{"fabric", []string{"fabric/frame", "fabric/splitmix", "fabric/unit"}, none, "the interfaces of package fabric use frames and quantities; their implementations import fabric, not the reverse"},
	{"fabric/llr", []string{"fabric", "fabric/frame", "fabric/ring", "fabric/unit"}, none, "retry knows frames and the link; the port of a NIC or a switch asks it what to transmit"},
	{"fabric/nic", []string{"fabric", "fabric/agenda", "fabric/cc", "fabric/credit", "fabric/frame", "fabric/llr", "fabric/ring", "fabric/unit"}, none, "a NIC knows no switch, no topology and no driver, only frames and its Config"},
	{"fabric/nic/rx", []string{"fabric", "fabric/frame", "fabric/ring", "fabric/unit"}, none, "the receive buffer and the pauses know frames and traffic classes, but no queue pairs; package nic passes absorbed frames to these"},
	{"fabric/nic/notify", []string{"fabric", "fabric/cc", "fabric/frame", "fabric/unit"}, none, "notification points take packets and instants and return reports; package nic queues and sends these"},
	{"fabric/nic/control", []string{"fabric", "fabric/frame", "fabric/nic/notify", "fabric/ring", "fabric/unit"}, none, "the queue of control packets knows when a packet goes; the queue pair that sends it builds it"},
	{"fabric/nic/uet", []string{"fabric", "fabric/agenda", "fabric/credit", "fabric/unit"}, none, "accounts and grants of credit take numbers and instants; package nic builds and sends the packets that carry them"},
	{"fabric/nic/entropy", []string{"fabric/cc", "fabric/ring", "fabric/splitmix", "fabric/unit"}, none, "a walk takes numbers and instants and returns numbers, so that it can be compared with a simple one; package qp writes them into packets"},
	{"fabric/nic/work", []string{"fabric/ring", "fabric/splitmix", "fabric/unit"}, none, "commands know neither frames nor tokens: package nic sends them, and package shaper paces them"},
	{"fabric/nic/program", []string{"fabric", "fabric/agenda", "fabric/ring", "fabric/unit"}, none, "a program knows steps and messages; package nic posts them on queue pairs"},
	{"fabric/nic/shaper", []string{"fabric/agenda", "fabric/ring", "fabric/unit"}, none, "the shaper knows only numbers, so that it can be compared with its reference implementation; package nic computes the cost of packets"},
	{"fabric/nic/qp", []string{"fabric", "fabric/agenda", "fabric/cc", "fabric/credit", "fabric/frame", "fabric/nic/control", "fabric/nic/entropy", "fabric/nic/notify", "fabric/nic/shaper", "fabric/nic/uet", "fabric/nic/work", "fabric/ring", "fabric/unit"}, none, "a queue pair knows neither the link nor the receive buffer: package nic connects them"},
	{"fabric/collective", []string{"fabric/nic/program", "fabric/unit"}, none, "a collective knows ranks; package scenariofile maps them to hosts"},
	{"fabric/switching", []string{"fabric", "fabric/agenda", "fabric/cc", "fabric/frame", "fabric/llr", "fabric/ring", "fabric/splitmix", "fabric/unit"}, none, "a switch knows no NIC, no topology and no driver, only frames and its Config"},
	{"fabric/switching/rttx", []string{"fabric/splitmix", "fabric/unit"}, none, "the converter takes fields and counts and returns an increment, so that it can be compared with its document alone"},
	{"fabric/switching/balance", []string{"fabric", "fabric/splitmix", "fabric/unit"}, none, "a choice of a port takes hashes, instants and queue lengths, so that it can be compared with a simple one alone"},
	{"fabric/topology", []string{"fabric", "fabric/collective", "fabric/nic/program", "fabric/cc", "fabric/credit", "fabric/frame", "fabric/llr", "fabric/nic/rx", "fabric/nic/work", "fabric/nic/shaper", "fabric/switching/balance", "fabric/switching/rttx", "fabric/splitmix", "fabric/unit", "fabric/workload"}, none, "the model of a scenario knows neither its text form nor the machines; scenariofile reads it, and rack builds machines from it"},
	{"fabric/topology/routes", []string{"fabric", "fabric/cc", "fabric/frame", "fabric/nic/notify", "fabric/topology", "fabric/unit"}, none, "routes follow from nodes and links alone"},
	{"fabric/topology/groups", []string{"fabric", "fabric/topology", "fabric/unit"}, none, "a cut follows from nodes, links and flows alone; lab and runner decide what a group does"},
	{"fabric/topology/templates", []string{"fabric/unit"}, none, "a template computes counts and ranges; package scenariofile makes nodes and links of them"},
	{"fabric/scenariofile", []string{"fabric", "fabric/collective", "fabric/nic/program", "fabric/cc", "fabric/credit", "fabric/frame", "fabric/llr", "fabric/nic/entropy", "fabric/nic/rx", "fabric/nic/work", "fabric/nic/shaper", "fabric/switching/balance", "fabric/switching/rttx", "fabric/topology", "fabric/topology/routes", "fabric/topology/templates", "fabric/unit", "fabric/workload"}, []string{"go.yaml.in/yaml/v3"}, "the text form of a scenario knows the model; it does not know the machines, which package rack builds"},
	{"fabric/node", []string{"fabric", "fabric/agenda", "fabric/frame", "fabric/ring", "fabric/unit"}, []string{"github.com/cespare/xxhash/v2"}, "an inbox orders and digests frames for any Machine, so it knows no particular one"},
	{"fabric/measure", []string{"fabric", "fabric/nic/program", "fabric/node", "fabric/topology", "fabric/topology/routes", "fabric/unit"}, none, "figures come from notes and digests alone, so that every kind of run yields the same table"},
	{"fabric/tracing", []string{"fabric", "fabric/frame", "fabric/splitmix", "fabric/topology", "fabric/unit"}, none, "spans come from notes alone, so that every kind of run has the same spans; package telemetry exports them"},
	{"fabric/rack", []string{"fabric", "fabric/cc", "fabric/frame", "fabric/llr", "fabric/nic/...", "fabric/node", "fabric/scenariofile", "fabric/switching", "fabric/switching/balance", "fabric/switching/rttx", "fabric/topology/...", "fabric/unit"}, none, "rack builds machines from a scenario; lab and runner drive them"},
	{"fabric/lab", []string{"fabric/..."}, none, "the lab runs machines in one process: it uses no bus and starts no process"},
	{"fabric/explain", []string{"fabric/..."}, none, "explain computes its text from a run in the lab; other output formats belong elsewhere"},
	{"fabric/tap", []string{"fabric", "fabric/frame", "fabric/node", "fabric/topology", "fabric/unit"}, none, "a tap records the frames at a port of any machine; lab and runner drive it"},
	{"capture", []string{"fabric/..."}, nil, "a capture file is made from the records of a tap, wherever the tap was"},
	{"cores", []string{"fabric/lab", "fabric/measure", "fabric/topology/groups", "fabric/unit"}, []string{"golang.org/x/sys"}, "cores are goroutines around the groups of a lab; the lab itself knows none"},
	{"export", []string{"cores", "fabric/...", "sweep"}, nil, "an export is made from a run's figures and a repetition of the run; the caller chooses the folder"},
	{"export/traces", []string{"fabric/unit", "proto/...", "services/collector/store"}, nil, "a file of traces is made from the answers of a collector; the caller asks for them"},
	{"imports", []string{"fabric/agenda", "fabric/collective", "fabric/frame", "fabric/nic/program", "fabric/nic/work", "fabric/scenariofile", "fabric/topology", "fabric/topology/routes", "fabric/unit", "proto/rackfab/chakra/v1"}, []string{"github.com/gopacket/gopacket", "google.golang.org/protobuf"}, "an import makes the text of a scenario from bytes; the caller reads and writes the files"},
	{"bus", []string{"bus/...", "fabric/frame", "fabric/ring", "fabric/unit"}, nil, "the bus carries frames and knows no machine, so that it can connect any machine"},
	{"proto", []string{"proto/..."}, nil, "an API on the wire outlives the code on both sides of it"},
	{"disk", none, []string{"golang.org/x/sys"}, "files and folders are names and bytes, the same for everything that is written"},
	{"identity", []string{"bus", "disk"}, none, "identities are files and names, the same for every process"},
	{"services", []string{"disk", "services/health", "services/internal/...", "services/startup", "bus/...", "fabric/...", "identity", "proto/..."}, nil, "services only connect packages, and call each other by gRPC alone"},
	{"services/internal/prometheus", []string{"fabric/unit", "proto/...", "services/collector/store", "services/internal/telemetry"}, nil, "queries go to a collector alone, by gRPC"},
	{"services/launch", []string{"services/broker", "services/controller", "services/health", "services/nic", "services/spawn", "services/startup", "services/switch", "services/worker", "services/internal/...", "bus/...", "fabric/...", "identity", "proto/..."}, nil, "launch starts the other services as processes and knows no package above them"},
	{"services/torture", []string{"services/controller", "services/internal/...", "bus/...", "fabric/...", "proto/..."}, nil, "torture runs a controller and nodes in one process and compares them with the lab; how failures are shown is the concern of commands"},
	{"services/torture/processes", []string{"services/controller", "services/launch", "services/torture", "bus", "fabric/...", "identity", "proto/..."}, nil, "faults of processes need the processes that launch starts; how failures and figures are shown is the concern of commands"},
	{"services/soak", none, nil, "soak reads metrics by HTTP and compares trends; what the processes do is the concern of commands"},
	{"services/worker", []string{"cores", "services/health", "services/internal/...", "services/nic", "services/spawn", "services/startup", "services/switch", "bus", "fabric/...", "identity", "proto/..."}, nil, "a worker runs groups of nodes as processes, and cells in memory; which ones, its clients decide"},
	{"services/startup", []string{"bus"}, nil, "startup knows attempts and time; what is missing, its caller knows"},
	{"services/spawn", []string{"services/internal/serve", "bus", "identity"}, nil, "spawn starts this program in any role and knows none of them"},
	{"services/collector", []string{"services/collector/...", "services/health", "services/internal/...", "fabric/...", "identity", "proto/..."}, nil, "the collector knows racks only from the OTLP telemetry of their nodes"},
	{"services/collector/store", []string{"fabric/measure", "proto/..."}, nil, "the store writes and queries data; the collector receives it and serves the queries"},
	{"services/collector/path", []string{"fabric", "fabric/tracing", "fabric/unit", "proto/..."}, none, "conversion of spans alone; package tracing computes paths, and the store has the spans"},
	{"services/page", []string{"services/collector/path", "services/internal/...", "fabric/...", "proto/..."}, nil, "the page calls controller and collector by gRPC alone, as any client does"},
	{"report", []string{"disk", "report/...", "fabric/measure", "fabric/scenariofile", "fabric/topology", "fabric/topology/routes", "fabric/unit"}, nil, "a report is made from the files of runs alone, so that it can be repeated anywhere"},
	{"report/chart", none, nil, "a chart knows lines and labels, so that it can draw anything"},
	{"report/table", none, nil, "a table knows text and the width of the terminal, so that every command prints its tables the same way"},
	{"examples", none, none, "examples are files; commands write them, and tests run them"},
	{"study", []string{"fabric/...", "report/chart", "report/table", "sweep"}, nil, "a study runs scenarios in the lab and compares them with a document's claims; it does not format its rows"},
	{"sweep", []string{"disk", "fabric/...", "report/chart"}, nil, "a sweep runs scenarios in the lab and makes tables; it does not format them"},
	{"docs", []string{"disk", "fabric/..."}, nil, "tools that write documents read the repository and run nothing"},
	{"cmd", []string{"..."}, nil, "the binary may use every package"},
	{"cmd/rackfab/internal/cli", []string{"disk", "fabric/unit", "report/table"}, nil, "values of flags, files, tables and exit status do not depend on racks, which the packages above know"},
	{"cmd/rackfab/internal/client", []string{"bus", "fabric/topology", "identity", "proto/...", "report/table", "services/collector", "services/controller", "services/health"}, nil, "a client knows addresses, certificates and errors; commands make the calls"},
	{"cmd/rackfab/internal/load", []string{"fabric/cc", "fabric/scenariofile", "fabric/topology", "imports", "study"}, nil, "scenarios are read the same way for every command; the name of an experiment is none"},
	{"cmd/rackfab/internal/telemetry", []string{"cmd/rackfab/internal/cli", "fabric/topology", "fabric/tracing", "proto/..."}, nil, "flags and sums of an export; the engines and the launcher do the export"},
	{"cmd/rackfab/internal/query", []string{"cmd/rackfab/internal/cli", "cmd/rackfab/internal/client", "export/traces", "fabric/...", "proto/...", "report/table", "services/collector/path", "services/collector/store"}, nil, "queries go to a collector alone, never to a rack"},
	{"cmd/rackfab/internal/inspect", []string{"disk", "cores", "cmd/rackfab/internal/cli", "cmd/rackfab/internal/client", "cmd/rackfab/internal/load", "cmd/rackfab/internal/query", "cmd/rackfab/internal/telemetry", "capture", "examples", "export", "fabric/...", "imports", "proto/...", "report/...", "services/collector", "sweep"}, nil, "inspection reads runs and racks and changes neither"},
	{"cmd/rackfab/internal/live", []string{"disk", "cmd/rackfab/internal/cli", "cmd/rackfab/internal/client", "cmd/rackfab/internal/inspect", "cmd/rackfab/internal/load", "cmd/rackfab/internal/telemetry", "fabric/...", "proto/...", "report/table", "services/collector", "services/controller", "services/launch", "services/soak", "services/spawn"}, nil, "the commands of a live rack start it or call its controller; batch runs are the concern of batch"},
	{"cmd/rackfab/internal/completion", []string{"cmd/rackfab/internal/client", "cmd/rackfab/internal/inspect", "cmd/rackfab/internal/query", "fabric/cc", "fabric/scenariofile", "fabric/topology", "proto/..."}, nil, "completion asks for names and changes nothing"},
	{"cmd/rackfab/internal/engine", []string{"cores", "cmd/rackfab/internal/cli", "cmd/rackfab/internal/client", "cmd/rackfab/internal/telemetry", "fabric/...", "identity", "services/..."}, nil, "an engine runs one scenario; which ones, and how results are shown, is the concern of batch"},
	{"cmd/rackfab/internal/batch", []string{"disk", "cmd/rackfab/internal/cli", "cmd/rackfab/internal/client", "cmd/rackfab/internal/engine", "cmd/rackfab/internal/load", "fabric/...", "report/...", "services/controller", "services/torture/...", "study", "sweep"}, nil, "batch runs end by themselves; commands for live racks are in live"},
	{"cmd/rackfab/internal/processes", []string{"cmd/rackfab/internal/cli", "cmd/rackfab/internal/client", "cmd/rackfab/internal/load", "cmd/rackfab/internal/telemetry", "bus", "compose", "fabric/scenariofile", "fabric/topology", "fabric/unit", "identity", "kubernetes", "services/..."}, nil, "one process runs alone; launch and the user compose a rack of them"},
	{"e2e", []string{"..."}, nil, "whole-system tests may use every package"},
	{"e2e/slowtest", none, none, "tests of every package ask whether slow tests run"},
	{"compose", []string{"..."}, nil, "the container rack is generated from facts of every package"},
	{"kubernetes", []string{"bus", "compose", "fabric/topology"}, nil, "manifests are text with names, ports and command lines; processes are started by Kubernetes"},
}

// restricted lists the external modules that only few packages may import. The first row that
// matches a file and its import decides.
var restricted = []struct{ module, dir, why string }{
	{"go.opentelemetry.io/proto/otlp", "services/collector", ""},
	{"go.opentelemetry.io/proto/otlp", "export/traces", ""},
	{"go.opentelemetry.io/proto/otlp", "e2e", ""}, // reads printed OTLP/JSON
	{"go.opentelemetry.io/otel", "e2e", ""},       // a stock client exports to the collector
	{"go.opentelemetry.io", "services/internal/telemetry", "machines emit notes, and package telemetry alone turns them into spans and metrics: call it instead"},
	{"github.com/nats-io/nats-server", "e2e", ""}, // reads printed configuration files
	{"github.com/nats-io", "bus", "only the bus imports NATS: use a bus.Link instead"},
}

// pure lists the standard packages that have no clock, no I/O, no concurrency
// and no hidden state. A trailing slash includes all packages below.
var pure = []string{
	"bytes", "cmp", "embed", "encoding", "encoding/", "errors", "fmt", "hash", "hash/adler32", "hash/crc32",
	"hash/crc64", "hash/fnv", "io", "iter", "maps", "math", "math/big", "math/bits", "math/cmplx", "math/rand/v2",
	"net/netip", "path", "reflect", "slices", "sort", "strconv", "strings", "text/", "unicode", "unicode/",
}

// impure lists the replacements for packages with I/O, time or hidden state.
var impure = map[string]string{
	"time":         "a machine has no clock: take now as a unit.Time",
	"os":           "a machine has no I/O: the caller reads files and passes bytes",
	"net":          "a machine has no network: send frames through fabric.Out",
	"sync":         "a machine has one caller at a time: it needs no lock",
	"sync/atomic":  "a machine has one caller at a time: it needs no atomic",
	"context":      "a machine never waits: there is nothing to cancel",
	"log":          "a machine does not log: emit a fabric.Note",
	"log/slog":     "a machine does not log: emit a fabric.Note",
	"runtime":      "a machine does not depend on its host",
	"unsafe":       "the behaviour of a machine must not depend on memory layout",
	"math/rand":    "use a seeded source of math/rand/v2 from the Config",
	"crypto/rand":  "use a seeded source of math/rand/v2 from the Config",
	"hash/maphash": "its seed differs between processes: use xxhash in fabric/node, or hash/fnv",
}

// testModules lists the modules that tests under fabric/ may use.
var testModules = []string{
	"github.com/cespare/xxhash/v2", "github.com/cockroachdb/datadriven", "github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal", "github.com/santhosh-tekuri/jsonschema/v6", "go.yaml.in/yaml/v3", "pgregory.net/rapid",
}

// seeded lists the permitted names of math/rand/v2: sources created from a seed. The functions of the package itself draw from a global source.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

// TestImportsPointOneWay checks the rules above for every Go file of the module. It
// reads the files itself, so that the test cache notices changes.
func TestImportsPointOneWay(t *testing.T) {
	// GET-55: chopping (nic/work), and shaping with its pacing and arbitration
	// (nic/shaper), know nothing of one another nor of the engine (nic) that they are
	// parts of.
	files := goFiles(t)
	for _, name := range files {
		src, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range violations(t, name, src) {
			t.Error(v)
		}
	}
	if len(files) < 10 {
		t.Errorf("checked only %d files of the module", len(files))
	}
}

// goFiles returns the paths of the module's Go files from its root.
func goFiles(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case !d.IsDir() && path.Ext(name) == ".go":
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// violations lists the rules that the file breaks, each with its position and
// reason. name is the file's path from the module's root.
func violations(t *testing.T, name string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	mode := parser.ImportsOnly
	if strings.HasPrefix(name, "fabric/") {
		mode = parser.SkipObjectResolution
	}
	file, err := parser.ParseFile(fset, name, src, mode)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var found []string
	report := func(pos token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", fset.Position(pos), fmt.Sprintf(format, args...)))
	}
	r, ok := ruleOf(path.Dir(name))
	if !ok {
		report(file.Pos(), "unknown directory: add a row to fabric/arch_test.go that lists its permitted imports")
		return found
	}
	test := strings.HasSuffix(name, "_test.go")
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", name, spec.Path.Value, err)
		}
		if why := refuse(r, path.Dir(name), imported, test); why != "" {
			report(spec.Pos(), "imports %s: %s", imported, why)
		}
	}
	if inFabric(r) && !test {
		impureCode(file, report)
	}
	return found
}

func inFabric(r rule) bool { return within(r.dir, "fabric") }

// within reports whether dir is root or below it.
func within(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

func ruleOf(dir string) (rule, bool) {
	var best rule
	for _, r := range rules {
		// The rule of package fabric does not cover packages below it: a new one needs its own.
		fits := within(dir, r.dir) && (r.dir != "fabric" || dir == "fabric")
		if fits && len(r.dir) > len(best.dir) {
			best = r
		}
	}
	return best, best.dir != ""
}

// refuse returns why a file in directory dir, under rule r, may not import the package,
// or "" if it may.
func refuse(r rule, dir, imported string, test bool) string {
	for _, d := range restricted {
		if !within(imported, d.module) {
			continue
		}
		if within(dir, d.dir) {
			break
		}
		if d.why != "" {
			return d.why
		}
	}
	if within(imported, modulePath) {
		return refuseOurs(r, dir, strings.TrimPrefix(strings.TrimPrefix(imported, modulePath), "/"), test)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return refuseStandard(r, imported, test)
	}
	allowed := r.mods
	if test && allowed != nil {
		allowed = slices.Concat(allowed, testModules)
	}
	if allowed == nil || slices.ContainsFunc(allowed, func(m string) bool { return within(imported, m) }) {
		return ""
	}
	return "packages under fabric/ import no other module than xxhash (fabric/node) and yaml (fabric/scenariofile), see docs/adr/002"
}

// started lists the packages that only the tests of a directory may import, because they start
// the services that they call by gRPC.
var started = map[string][]string{"services/controller": {"services/nic", "services/switch"}}

func refuseOurs(r rule, dir, imported string, test bool) string {
	if test && (imported == dir || imported == "e2e/slowtest" || within(imported, "fabric") || slices.Contains(started[dir], imported)) {
		return ""
	}
	// A package under fabric may import its own parts.
	if inFabric(r) && r.dir != "fabric" && within(imported, r.dir) {
		return ""
	}
	for _, allowed := range r.ours {
		below, all := strings.CutSuffix(allowed, "...")
		below = strings.TrimSuffix(below, "/")
		if imported == allowed || all && (below == "" || within(imported, below)) {
			return ""
		}
	}
	return r.why
}

func refuseStandard(r rule, imported string, test bool) string {
	if !inFabric(r) || test {
		return ""
	}
	if why, known := impure[imported]; known {
		return why
	}
	for _, p := range pure {
		if imported == p || strings.HasSuffix(p, "/") && strings.HasPrefix(imported, p) {
			return ""
		}
	}
	return "packages under fabric/ import pure standard packages only; if this one has no clock, I/O, lock or hidden state, add it to pure"
}

// impureCode reports violations that no import shows: goroutines, channels, printing and
// the global random source.
func impureCode(file *ast.File, report func(token.Pos, string, ...any)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "starts a goroutine: a machine has one caller, services/internal/runner is the only loop")
		case *ast.ChanType, *ast.SelectStmt:
			report(n.Pos(), "uses a channel: record effects in fabric.Out")
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			switch {
			case !ok:
			case importedAs(file, "math/rand/v2", "rand") == id.Name && !slices.Contains(seeded, n.Sel.Name):
				report(n.Pos(), "draws from the global random source: use the seeded source of the Config")
			case importedAs(file, "fmt", "fmt") == id.Name && strings.HasPrefix(n.Sel.Name, "Print"):
				report(n.Pos(), "prints: emit a fabric.Note or return a string")
			}
		}
		return true
	})
}

// importedAs returns the name under which the file imports the package, "" if it does
// not import it.
func importedAs(file *ast.File, pkg, base string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(pkg) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return base
	}
	return ""
}

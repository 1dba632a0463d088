package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// elsewhere maps the README's commands that another step runs to the file that runs
// them, and to a text in that file.
var elsewhere = map[string][2]string{
	"go run ./cmd/rackfab run":                        {".ci/run", "go run ./cmd/rackfab run"},
	"go test ./...":                                   {".ci/run", "go test ./..."},
	"go install ./cmd/rackfab":                        {".ci/run", "go install ./cmd/rackfab"},
	"rackfab run --repeat 20":                         {"e2e/printed_test.go", `"run", "--repeat", "20"`},
	"rackfab soak --for 4h":                           {"e2e/soak_test.go", `program, "soak", `},
	"rackfab torture --kind processes --schedules 40": {"e2e/torture_linux_test.go", `"torture", "--kind", "processes"`},
	"rackfab page":                                    {"e2e/page_linux_test.go", `[]string{"page", "--address"`},
	"docker compose -f compose/compose.yaml up --detach && rackfab run --controller 127.0.0.1:7000": {
		"e2e/containers_test.go", `composeFile = "../compose/compose.yaml"`,
	},
}

// placeholders maps the README's placeholders to values; alternatives are tried one by
// one. A flag in brackets with a nil value needs another rack: the test only checks that the
// flag exists. URL is that of a bus with three free workers.
var placeholders = map[string][]string{
	"SCENARIO|FILE": {"rack.yaml"}, "SCENARIO|JOURNAL": {"journal.yaml"}, "FILE": {"rack.yaml"}, "DIR...": {"out", "out"},
	"DIR": {"made"}, "NAME": {"leaf-spine"}, "DIR|RUN": {"out"}, "F0": {"F0"}, "F1": {"F1"}, "ADDR": {"ADDR"}, "N": {"1"}, "T": {"100us"}, "H": {"localhost"}, "KEY=V1,V2...": {"switch.xoff=100KB,150KB"},
	"URL": {"URL"}, "pfc,pcn": {"pfc,pcn"}, "1,2": {"1,2"}, "nats|memory": {"memory"},
	"--nats-url": nil, "--nats-nkey": nil, "--controller": nil,
}

var (
	innermost = regexp.MustCompile(`\[([^][]*)\]`)
	// placeholder matches a value that the reader replaces: "FILE", "A|B", "V1,V2..."
	placeholder = regexp.MustCompile(`^[A-Z][A-Z0-9=|,.]*$`)
	roles       = regexp.MustCompile(`^rackfab (\w+(\|\w+)+)$`)
)

// meanings returns the command lines that a line of the README denotes: without the
// text in brackets, with all of it, and one per alternative command.
func meanings(t *testing.T, line string) (all [][]string) {
	t.Helper()
	if m := roles.FindStringSubmatch(line); m != nil {
		for role := range strings.SplitSeq(m[1], "|") {
			all = append(all, []string{role, "--help"})
		}
		return all
	}
	bare, full := line, line
	for innermost.MatchString(bare) {
		bare = innermost.ReplaceAllString(bare, "")
	}
	for innermost.MatchString(full) {
		full = innermost.ReplaceAllStringFunc(full, func(group string) string {
			flag, _, _ := strings.Cut(group[1:], " ")
			if stands, known := placeholders[flag]; known && stands == nil {
				exists(t, line, flag)
				return ""
			}
			return strings.Trim(group, "[]")
		})
	}
	all = [][]string{filled(t, bare)}
	if full != line {
		all = append(all, filled(t, full))
	}
	return all
}

// exists checks that the command of a line has the flag.
func exists(t *testing.T, line, flag string) {
	t.Helper()
	if help := must(t, exec.Command(program, strings.Fields(line)[1], "--help")); !strings.Contains(help, flag+" ") {
		t.Errorf("%s: the command has no flag %s", line, flag)
	}
}

// filled replaces the placeholders of a line with their values.
func filled(t *testing.T, line string) (args []string) {
	t.Helper()
	for _, word := range unquoted(line)[1:] {
		switch stands, known := placeholders[word]; {
		case known && stands != nil:
			args = append(args, stands...)
		case placeholder.MatchString(word):
			t.Errorf("%s: this test has no value for the placeholder %s", line, word)
		default:
			args = append(args, word)
		}
	}
	return bounded(args)
}

// bounded limits the fabric time of a command, or completes it, where the README leaves
// that to the reader.
func bounded(args []string) []string {
	switch {
	case args[0] == "run" && (len(args) == 1 || slices.Contains([]string{"rack.yaml", "leaf-spine", "--processes", "--workers", "--scheme"}, args[1])):
		return append(args, "--duration", "500us")
	case args[0] == "run" && slices.Contains([]string{"fig5", "rttx-compare", "ceth-reaction"}, args[1]) && len(args) == 2:
		args = append(args, "--processes", "2") // instead of one per node, which takes six minutes
		if args[1] == "fig5" {
			args = append(args, "--duration", "500us")
		}
		return args
	case args[0] == "torture":
		return append(args, "--schedules", "2")
	case args[0] == "sweep":
		return append(args, "--set", "duration=500us")
	case args[0] == "capture":
		return append(args, "--for", "20us", "--overwrite")
	case args[0] == "report":
		return append(args, "--overwrite")
	case args[0] == "replay":
		return append(args[:1], "journal.yaml")
	}
	return args
}

// Every command of the README, and of the list of commands, succeeds while a rack runs.
func TestReadmeCommands(t *testing.T) {
	slowtest.Skip(t, "runs every command of the README")
	first, listed, scenario := typed(t, "../README.md"), typed(t, "../docs/guide/commands.md"), sample(t)
	if len(first) < 8 || len(listed) < 40 {
		t.Fatalf("%d and %d commands", len(first), len(listed))
	}
	lines := slices.Concat(first, listed)
	for line, where := range elsewhere {
		text, err := os.ReadFile(filepath.Join("..", where[0]))
		if err != nil || !strings.Contains(string(text), where[1]) || !slices.Contains(lines, line) {
			t.Errorf("%q is not in the README, or %s does not run it (%v)", line, where[0], err)
		}
	}
	guide, err := filepath.Abs(importGuide)
	if err != nil {
		t.Fatal(err)
	}
	training := block(t, "../docs/guide/collectives.md", "name: training", 1)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("rack.yaml", []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	importFiles(t, guide)
	writeLines(t, "training.yaml", training)
	r := up(t, "pcn-16to2", "--scheme", "pcn", "--paused", "--processes", "2") // it takes time from every command
	r.do(t, "step", "50us")
	r.do(t, "journal", "save", "journal.yaml")
	r.do(t, "resume")
	r.do(t, "run", "rack.yaml", "--bus", "memory", "--output", "out")
	url := busURL(t)
	for _, name := range []string{"w0", "w1", "w2"} {
		freeWorker(t, url, name)
	}
	for _, line := range lines {
		if _, ok := elsewhere[line]; ok {
			continue
		}
		for _, args := range meanings(t, line) {
			t.Run(strings.Join(args, " "), func(t *testing.T) { r.runCommand(t, args, url) })
		}
	}
	r.interrupt(t)
}

// runCommand runs a command, with the URL of a bus of workers for the placeholder URL. If
// the command starts a rack or a process, runCommand ends it at once.
func (r *rack) runCommand(t *testing.T, args []string, url string) {
	t.Helper()
	for i := range args {
		args[i] = strings.Replace(args[i], "URL", url, 1)
	}
	if args[0] == "worker" && !slices.Contains(args, "--help") {
		serve(t, args...)
		return
	}
	if args[0] == "up" && !slices.Contains(args, "--help") {
		another := up(t, args[1:]...)
		another.interrupt(t)
		return
	}
	if args[0] == "health" {
		args = []string{"health", r.address}
	}
	r.do(t, args...)
}

// sample returns the scenario that the README shows.
func sample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Writing a scenario\n\n")
	block, _, ok := strings.Cut(rest, "\n\n")
	if !ok {
		t.Fatal("the README shows no scenario")
	}
	return strings.ReplaceAll(block+"\n", "\n    ", "\n")[len("    "):]
}

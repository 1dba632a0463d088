package compose

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// service has the properties of a container that the tests check.
type service struct {
	Image       string
	Profiles    []string
	Build       any
	Hostname    string
	Command     []string
	Ports       []string
	Networks    []string
	Volumes     []string
	Environment map[string]string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Memory      string   `yaml:"mem_limit"`
	CPUs        float64
	PIDs        int                                   `yaml:"pids_limit"`
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct {
		Test     []string
		Interval string
	}
}

type document struct {
	Services map[string]service
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]struct {
		DriverOpts map[string]string `yaml:"driver_opts"`
	}
}

// rack parses a scenario.
func rack(t *testing.T, name string, text []byte) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pair returns a scenario of two NICs with the given names behind the switch s0.
func pair(t *testing.T, a, b string) *topology.Scenario {
	t.Helper()
	const text = "name: pair\nduration: 1ms\nscheme: pfc\nnics: {%[1]q: , %[2]q: }\nswitches: {s0: }\n" +
		"links: [{endpoints: [[%[1]q, %[2]q], s0], rate: 40Gbps, delay: 5us}]\nflows: [{name: F, from: %[1]q, to: %[2]q, size: 1KB}]\n"
	return rack(t, "pair", fmt.Appendf(nil, text, a, b))
}

func parse(t *testing.T, text []byte) document {
	t.Helper()
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func pcn16to2(t *testing.T) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	return rack(t, "pcn-16to2", text)
}

// compose.yaml equals the output of `rackfab compose`; `make generate` writes it.
func TestCommittedFileIsGenerated(t *testing.T) {
	want, err := File(pcn16to2(t), Options{Processes: 20})
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("compose.yaml is out of date: go generate ./compose")
	}
}

func TestContainersAreUnprivileged(t *testing.T) {
	s := pcn16to2(t)
	text, err := File(s, Options{Processes: len(s.Nodes)})
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, text)
	maps.DeleteFunc(d.Services, isBackend)
	if len(d.Services) != len(s.Nodes)+3 {
		t.Errorf("%d containers for %d nodes", len(d.Services), len(s.Nodes))
	}
	for name, c := range d.Services {
		if !c.ReadOnly || !slices.Equal(c.CapDrop, []string{"ALL"}) || !slices.Equal(c.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s has privileges: %+v", name, c)
		}
		if c.Memory == "" || c.CPUs == 0 || c.PIDs == 0 {
			t.Errorf("%s has no limit: %+v", name, c)
		}
		if c.Hostname != name || len(c.Healthcheck.Test) != 4 || c.Healthcheck.Interval == "" {
			t.Errorf("%s: %+v", name, c)
		}
		if first := c.DependsOn["bus"].Condition; (name == "bus") != (first == "") || name != "bus" && first != "service_healthy" {
			t.Errorf("%s starts once the bus is %q", name, first)
		}
	}
	for _, n := range s.Nodes {
		want := fmt.Sprintf("%s --bus nats://bus:4222 --nkey /key/nkey --name %s --listen %[2]s:7000 --collector ${RACKFAB_COLLECTOR:-collector:4317} --metrics-listen %[2]s:9464", n.Kind, n.Name)
		if have := strings.Join(d.Services[n.Name].Command, " "); have != want {
			t.Errorf("%s runs %q, want %q", n.Name, have, want)
		}
	}
}

// The bus writes every member's key to a volume in memory that only the member reads.
// With TLS the same holds for certificates.
func TestContainerMountsOnlyItsOwnKey(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := pcn16to2(t)
		text, err := File(s, Options{TLS: secure, Processes: len(s.Nodes)})
		if err != nil {
			t.Fatal(err)
		}
		d := parse(t, text)
		members := []string{"controller"}
		if secure {
			members = append(members, "collector")
		}
		for _, n := range s.Nodes {
			members = append(members, n.Name)
		}
		for _, name := range members {
			var mounted []string
			for _, v := range d.Services[name].Volumes {
				if strings.HasPrefix(v, "key") {
					mounted = append(mounted, v)
				}
			}
			if want := []string{"key-" + name + ":/key:ro"}; !slices.Equal(mounted, want) {
				t.Errorf("%s has %q, want %q", name, mounted, want)
			}
			if want := "key-" + name + ":/keys/" + name; !slices.Contains(d.Services["bus"].Volumes, want) {
				t.Errorf("the bus does not write the key of %s", name)
			}
			if o := d.Volumes["key-"+name].DriverOpts; o["type"] != "tmpfs" || !strings.Contains(o["o"], "mode=0700,uid=65532") {
				t.Errorf("the key of %s is in %v", name, o)
			}
			if have := d.Services[name].Environment["RACKFAB_TLS"]; secure != (have == "/key") {
				t.Errorf("%s has certificates in %q", name, have)
			}
		}
		if command := strings.Join(d.Services["bus"].Command, " "); !strings.Contains(command, "--keys /keys --make") {
			t.Errorf("the bus runs %q", command)
		}
	}
}

// Only the controller and the collector are reachable from outside, from this machine
// only, and no other container can reach the outside.
func TestPublishedPorts(t *testing.T) {
	text, err := File(pcn16to2(t), Options{Processes: 20})
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, text)
	maps.DeleteFunc(d.Services, isBackend)
	if !d.Networks["rack"].Internal {
		t.Error("the rack's network is not internal")
	}
	published := map[string]int{"controller": 1, "collector": 3}
	for name, c := range d.Services {
		outside := slices.ContainsFunc(c.Ports, func(p string) bool { return !strings.HasPrefix(p, "127.0.0.1:") })
		switch {
		case published[name] > 0:
			if len(c.Ports) != published[name] || outside {
				t.Errorf("%s is published at %v", name, c.Ports)
			}
		case len(c.Ports) > 0 || !slices.Equal(c.Networks, []string{"rack"}):
			t.Errorf("%s is published at %v, on %v", name, c.Ports, c.Networks)
		}
	}
}

// A named image is used as it is; the default image is built.
func TestImage(t *testing.T) {
	for image, built := range map[string]bool{"": true, "rackfab": true, "registry.example/rackfab:1": false} {
		text, err := File(pair(t, "a", "b"), Options{Image: image, Processes: 3})
		if err != nil {
			t.Fatal(err)
		}
		d := parse(t, text)
		if c := d.Services["bus"]; (c.Build != nil) != built {
			t.Errorf("image %q: build %v", image, c.Build)
		}
		if want := "${RACKFAB_IMAGE:-" + image + "}"; image != "" && d.Services["a"].Image != want {
			t.Errorf("image %q, want %q", d.Services["a"].Image, want)
		}
	}
}

// YAML 1.1, which docker-compose reads, parses bare words such as on as booleans.
func TestAmbiguousNamesAreQuoted(t *testing.T) {
	text, err := File(pair(t, "on", "no"), Options{Processes: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\n  \"on\":\n", "\n    hostname: \"no\"\n", "--name, \"on\", --listen"} {
		if !bytes.Contains(text, []byte(line)) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

func TestInvalidContainerNames(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"a", "bus", "node bus: the name of its container is taken by the bus"},
		{"Controller", "b", "node Controller: the name of its container is taken by the controller"},
		{"h0", "H0", "node H0: the name of its container is taken by node h0"},
	} {
		if _, err := File(pair(t, tt.a, tt.b), Options{Processes: 3}); err == nil || err.Error() != tt.want {
			t.Errorf("%s, %s: %v", tt.a, tt.b, err)
		}
	}
}

func isBackend(name string, _ service) bool { return slices.Contains(backends, name) }

// Back ends start only on request, have resource limits and are reachable from this
// machine only, and their configuration files lie beside the Compose file. A rack with
// its own image, with TLS or with workers has no back ends.
func TestBackendsProfile(t *testing.T) {
	for _, test := range []struct {
		image     string
		secure    bool
		processes int
		want      int
	}{{"", false, 20, len(backends)}, {"", true, 20, 0}, {"mine", false, 20, 0}, {"", false, 3, 0}} {
		text, err := File(pcn16to2(t), Options{Image: test.image, TLS: test.secure, Processes: test.processes})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for name, c := range parse(t, text).Services {
			if !isBackend(name, c) {
				continue
			}
			found++
			if !slices.Equal(c.Profiles, []string{"otel"}) || c.Memory == "" || c.CPUs == 0 || !slices.Equal(c.CapDrop, []string{"ALL"}) {
				t.Errorf("%s: %+v", name, c)
			}
			for _, p := range c.Ports {
				if !strings.HasPrefix(p, "127.0.0.1:") {
					t.Errorf("%s is published at %s", name, p)
				}
			}
		}
		if found != test.want {
			t.Errorf("%+v: %d back ends", test, found)
		}
	}
	checkTargets(t)
	for _, settings := range []string{"otel.yaml", "prometheus.yaml"} {
		text, err := os.ReadFile(settings)
		if err != nil || yaml.Unmarshal(text, &map[string]any{}) != nil {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// checkTargets checks that Prometheus scrapes every process of the rack, and that each
// process serves its metrics on a network without other access.
func checkTargets(t *testing.T) {
	t.Helper()
	text, err := File(pcn16to2(t), Options{Processes: 20})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name, c := range parse(t, text).Services {
		if isBackend(name, c) {
			continue
		}
		want = append(want, fmt.Sprintf("%s:%d", name, MetricsPort))
		at := strings.Join(c.Command, " ")
		if !strings.Contains(at, "--metrics-listen") || strings.Contains(strings.Join(c.Ports, " "), "9464") {
			t.Errorf("%s runs %q, published %v", name, at, c.Ports)
		}
	}
	var settings struct {
		Jobs []struct {
			Name    string `yaml:"job_name"`
			Configs []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	text, err = os.ReadFile("prometheus.yaml")
	if err != nil || yaml.Unmarshal(text, &settings) != nil {
		t.Fatal(err)
	}
	have := settings.Jobs[1].Configs[0].Targets
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("Prometheus scrapes %v, the processes are %v", have, want)
	}
}

// Every package of the program is in the build context of the image.
func TestImageHasEveryPackage(t *testing.T) {
	ignore, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	taken := strings.Fields(string(ignore))
	outside := []string{"docs", "e2e"} // not part of the program
	rooms, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range rooms {
		name, code := room.Name(), false
		_ = filepath.WalkDir(filepath.Join("..", name), func(path string, _ os.DirEntry, _ error) error {
			code = code || room.IsDir() && strings.HasSuffix(path, ".go")
			return nil
		})
		if code && !slices.Contains(taken, "!"+name) && !slices.Contains(outside, name) {
			t.Errorf("%s is not in .dockerignore", name)
		}
	}
}

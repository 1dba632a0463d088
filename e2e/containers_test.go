package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/compose"
)

// Environment variables of the container tests.
const (
	wantContainers = "RACKFAB_CONTAINERS" // runs the tests if set
	projectName    = "RACKFAB_PROJECT"    // prefix of the names of all objects that the tests create
)

// composeFile is the rack that users start; rackSize is its number of containers.
const (
	composeFile = "../compose/compose.yaml"
	rackSize    = 23
)

// Time limits of the steps. A step that hangs fails early enough to clean up.
const (
	buildLimit = 18 * time.Minute
	upLimit    = 2 * time.Minute
	cleanLimit = time.Minute
)

// containers is a rack of containers, created as users create it.
type containers struct {
	project, image, base string
	file                 string // the Compose file
	env                  []string
	v2                   bool // uses `docker compose`, not docker-compose 1.29
}

// imageVersion is the version that the image is to report.
const imageVersion = "v0.0.0-e2e"

// needContainers skips or fails a test if there is no Docker.
func needContainers(t *testing.T) *containers {
	t.Helper()
	if os.Getenv(wantContainers) == "" {
		t.Skipf("builds an image and starts %d containers: set %s=1", rackSize, wantContainers)
	}
	for _, command := range []string{"docker version", "docker-compose version"} {
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
			lacking(t, "%s: %v %s", command, err, out)
		}
	}
	project := os.Getenv(projectName)
	if project == "" {
		project = fmt.Sprintf("rackfab-e2e-%d", os.Getpid())
	}
	c := &containers{project: project, image: project, base: project + "-go", file: composeFile}
	c.env = append(os.Environ(), "RACKFAB_IMAGE="+c.image, "GO_IMAGE="+c.base, "RACKFAB_VERSION="+imageVersion, "RACKFAB_PORT=0", "RACKFAB_COLLECTOR_PORT=0", "RACKFAB_OTLP_HTTP_PORT=0", "RACKFAB_PAGE_PORT=0", "RACKFAB_CHECK=5s", "DOCKER_BUILDKIT=0", "COMPOSE_DOCKER_CLI_BUILD=0", "COMPOSE_HTTP_TIMEOUT=600")
	t.Cleanup(func() { c.clean(t) })
	return c
}

// clean removes everything that the test created, whatever its outcome.
func (c *containers) clean(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	if t.Failed() {
		logs, _ := c.rack(ctx, "logs", "--tail", "5", "--no-color").CombinedOutput()
		t.Logf("%s", logs)
	}
	_ = c.rack(ctx, "down", "--volumes", "--remove-orphans", "--timeout", "5").Run() // is down already if the test passed
	stages := c.stages(ctx)
	_ = c.command(ctx, "docker", append([]string{"image", "rm", "--force", c.image}, append(stages, c.base)...)...).Run()
}

// stages returns the unnamed images that a build leaves on top of the base, newest
// first, so that each image precedes the images on which it is based.
func (c *containers) stages(ctx context.Context) []string {
	const bottom = "{{index .RootFS.Layers 0}}"
	base, err := c.command(ctx, "docker", "image", "inspect", "--format", bottom, c.base).Output()
	if err != nil {
		return nil // there is no base
	}
	later, _ := c.command(ctx, "docker", "image", "ls", "--all", "--quiet", "--filter", "since="+c.base).Output()
	var mine []string
	for _, id := range strings.Fields(string(later)) {
		if layer, _ := c.command(ctx, "docker", "image", "inspect", "--format", bottom, id).Output(); bytes.Equal(layer, base) {
			mine = append(mine, id)
		}
	}
	return mine
}

func (c *containers) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = c.env
	return cmd
}

// rack runs the Compose tool on the rack.
func (c *containers) rack(ctx context.Context, args ...string) *exec.Cmd {
	return c.composing(ctx, append([]string{"--project-name", c.project, "--file", c.file}, args...)...)
}

// must runs a command to its end and returns its output.
func must(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		var log []byte
		if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output gives no other
			log = e.Stderr
		}
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, log)
	}
	return strings.TrimSpace(string(out))
}

// build builds the image from compose/Dockerfile, without a registry: GO_IMAGE is the
// stand-in image.
func (c *containers) build(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildLimit)
	defer cancel()
	importGo(ctx, t, c.base)
	must(t, c.rack(ctx, "build"))
}

// up starts the rack. healthy waits until every container is healthy.
func (c *containers) up(t *testing.T) (healthy func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), upLimit)
	events := c.command(ctx, "docker", "events", "--filter", "event=health_status",
		"--filter", c.label(), "--format", "{{.Actor.Attributes.name}} {{.Status}}")
	out, err := events.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := events.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = events.Wait() // the process was killed
	})
	must(t, c.rack(ctx, "up", "--detach", "--no-build"))
	return func() {
		t.Helper()
		well := map[string]bool{}
		for lines := bufio.NewScanner(out); len(well) < rackSize && lines.Scan(); {
			name, status, _ := strings.Cut(lines.Text(), " ")
			well[name] = strings.HasSuffix(status, " healthy")
			if !well[name] {
				t.Fatalf("%s: %s", name, status)
			}
		}
		if len(well) < rackSize {
			t.Fatalf("only %d of %d containers were healthy within %v", len(well), rackSize, upLimit)
		}
	}
}

// controller returns the address of the controller on this machine.
func (c *containers) controller(t *testing.T) string {
	t.Helper()
	for { // a container that restarts has no port
		out, err := c.rack(t.Context(), "port", "controller", "7000").Output()
		if address := strings.TrimSpace(string(out)); err == nil && address != "" {
			return address
		}
	}
}

// live injects a burst into a running rack, and kills a node and the controller, which the
// engine restarts. The journal that the controller returns and the journal in the
// controller's volume both replay in memory. live returns the address of the controller,
// which has changed.
func (c *containers) live(t *testing.T, address string) string {
	t.Helper()
	say := func(args ...string) string {
		cmd := c.command(t.Context(), program, args...)
		cmd.Env = append(cmd.Env, "RACKFAB_ADDRESS="+address)
		return must(t, cmd)
	}
	say("up", "pcn-16to2", "--scheme", "pcn", "--controller", address, "--paused")
	say("burst", "--from", "h2..h15", "--to", "r1", "--flows", "2", "--size", "16KB")
	say("step", "500us")
	for i, victim := range []string{"h5", "controller"} { // the engine restarts them
		id := must(t, c.rack(t.Context(), "ps", "--quiet", victim))
		if victim == "controller" {
			must(t, c.command(t.Context(), "kill", "-9", must(t, c.command(t.Context(), "docker", "inspect", "--format", "{{.State.Pid}}", id))))
		} else {
			must(t, c.command(t.Context(), "docker", "kill", "--signal", "ABRT", id))
		}
		for served := false; !served; { // the engine publishes a port of its own choice, another one after a restart
			address = c.controller(t)
			served = c.command(t.Context(), program, "health", "--wait", "30s", address).Run() == nil
		}
		say("step", "100us")
		if said := say("status"); !strings.Contains(said, fmt.Sprintf("recoveries: %d", i+1)) {
			t.Errorf("%s was killed: %s", victim, said)
		}
	}
	dir := t.TempDir()
	saved, kept := filepath.Join(dir, "saved.yaml"), filepath.Join(dir, "kept.yaml")
	say("journal", "save", saved)
	say("down")
	must(t, c.command(t.Context(), "docker", "cp", must(t, c.rack(t.Context(), "ps", "--quiet", "controller"))+":"+compose.Journal, kept))
	for _, file := range []string{saved, kept} {
		t.Logf("replay of %s:\n%s", filepath.Base(file), say("replay", file)) // fails if the digests differ
	}
	return address
}

// down removes the rack. The engine may keep a network endpoint of a removed container.
// In that case down disconnects the endpoint and logs it.
func (c *containers) down(t *testing.T, flags ...string) {
	t.Helper()
	flags = append([]string{"down"}, flags...)
	out, err := c.rack(t.Context(), flags...).CombinedOutput()
	if err == nil {
		return
	}
	if !strings.Contains(string(out), "has active endpoints") {
		t.Fatalf("down: %v\n%s", err, out)
	}
	for _, network := range strings.Fields(must(t, c.command(t.Context(), "docker", "network", "ls", "--quiet", "--filter", c.label()))) {
		ends := must(t, c.command(t.Context(), "docker", "network", "inspect", "--format", "{{range .Containers}}{{.Name}} {{end}}", network))
		t.Logf("the engine kept endpoints of removed containers in network %s: %s", network, ends)
		for _, end := range strings.Fields(ends) {
			must(t, c.command(t.Context(), "docker", "network", "disconnect", "--force", network, end))
		}
	}
	must(t, c.rack(t.Context(), flags...))
}

// compareTraces compares the traces of a run in the rack's collector with those of the
// same run in memory.
func (c *containers) compareTraces(t *testing.T, address string) {
	t.Helper()
	runExporting(t, "collector:4317", "--controller", address) // name of the collector on the nodes' network
	rack := stored(t, dialCollector(t, must(t, c.rack(t.Context(), "port", "collector", "4317"))))
	collector, there := startCollector(t)
	runExporting(t, there, "--bus", "memory")
	if diff := cmp.Diff(rack, stored(t, collector)); diff != "" || len(rack) < 20 {
		t.Errorf("%d spans; in containers (-), in memory (+):\n%s", len(rack), diff)
	}
}

// ids returns the IDs of the containers.
func (c *containers) ids(t *testing.T) []string {
	t.Helper()
	return strings.Fields(must(t, c.command(t.Context(), "docker", "container", "ls", "--all", "--quiet", "--filter", c.label())))
}

// label returns the filter that selects the objects of the rack.
func (c *containers) label() string { return "label=com.docker.compose.project=" + c.project }

// The rack of compose/compose.yaml, built by compose/Dockerfile, reproduces the run in
// memory. Taking the rack down leaves nothing behind.
// TRUST-11: the image has a bill of materials, and its binary the bytes of another build.
func TestContainersMatchMemory(t *testing.T) {
	c := needContainers(t)
	begin := time.Now()
	c.build(t)
	t.Logf("image built in %.1f s", time.Since(begin).Seconds())
	if got := must(t, c.command(t.Context(), "docker", "run", "--rm", c.image, "version")); !strings.HasPrefix(got, "rackfab "+imageVersion+" ") {
		t.Errorf("the image reports %q", got)
	}
	c.checkImage(t)
	flags := []string{"--duration", short, "--scheme", "pfc,pcn"}
	memory := digests(start(t, append(flags, "--bus", "memory")...).results(t))

	begin = time.Now()
	since := func(event string) { t.Logf("%.1f s after up: %s", time.Since(begin).Seconds(), event) }
	healthy := c.up(t)
	since("all containers have started")
	address := c.controller(t)
	for range 2 { // the rack stays up
		rack := start(t, append(flags, "--controller", address)...).results(t)
		since("a run of two schemes has ended")
		if diff := cmp.Diff(memory, digests(rack)); diff != "" {
			t.Errorf("digests differ (-memory +containers):\n%s", diff)
		}
	}
	address = c.live(t, address)
	since("a live run has been steered, saved and replayed")
	c.compareTraces(t, address)
	since("the collector has the same data as one in memory")
	healthy()
	since("all containers are healthy")
	t.Logf("memory:\n%s", must(t, c.command(t.Context(), "docker",
		append([]string{"stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}"}, c.ids(t)...)...)))

	c.down(t, "--volumes")
	c.left(t, "container", "network", "volume")
	c.workers(t, memory, flags)
	c.repeat(t, memory, flags)
}

// workers starts the rack with two containers for its nodes, with TLS, from the same
// image. The run is the same.
func (c *containers) workers(t *testing.T, memory map[string]string, flags []string) {
	t.Helper()
	composed := c.file
	defer func() { c.file = composed }()
	c.file = filepath.Join(t.TempDir(), "compose.yaml")
	must(t, c.command(t.Context(), program, "compose", "--processes", "2", "--image", c.image, "--tls", "--output", c.file))
	begin := time.Now()
	must(t, c.rack(t.Context(), "up", "--detach"))
	certs := filepath.Join(t.TempDir(), "client")
	must(t, c.command(t.Context(), "docker", "cp", must(t, c.rack(t.Context(), "ps", "--quiet", "bus"))+":/keys/client", certs))
	address := must(t, c.rack(t.Context(), "port", "controller", "7000"))
	rack := start(t, append(flags, "--controller", address, "--tls", certs)...).results(t)
	t.Logf("2 workers: a run of two schemes ended %.1f s after up", time.Since(begin).Seconds())
	if diff := cmp.Diff(memory, digests(rack)); diff != "" {
		t.Errorf("digests differ (-memory +workers):\n%s", diff)
	}
	c.down(t, "--volumes")
	c.left(t, "container", "network", "volume")
}

// repeat starts the same image with `docker compose`, if available. The run is the same,
// and `down` leaves only the known objects behind.
func (c *containers) repeat(t *testing.T, memory map[string]string, flags []string) {
	t.Helper()
	if c.v2 = c.plugin(t); !c.v2 {
		say := t.Logf // the earlier checks remain valid
		if os.Getenv(wantAll) != "" {
			say = t.Fatalf
		}
		say("no `docker compose`: set %s to $(make -s docker-compose)", composePlugin)
		return
	}
	must(t, c.rack(t.Context(), "config", "--quiet"))
	begin := time.Now()
	c.up(t)() // `up` returns before the controller listens, while Docker accepts connections for it
	address := must(t, c.rack(t.Context(), "port", "controller", "7000"))
	rack := start(t, append(flags, "--controller", address)...).results(t)
	t.Logf("docker compose: a run of two schemes ended %.1f s after up", time.Since(begin).Seconds())
	if diff := cmp.Diff(memory, digests(rack)); diff != "" {
		t.Errorf("digests differ (-memory +docker compose):\n%s", diff)
	}
	c.downDuringRun(t, address)
}

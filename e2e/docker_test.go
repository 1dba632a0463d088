package e2e

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rackfab/rackfab/compose"
)

// composePlugin is the environment variable with the path of the plugin of `docker
// compose`, for machines without it (`make docker-compose` builds the plugin and prints
// its path).
const composePlugin = "RACKFAB_DOCKER_COMPOSE"

// plugin installs `docker compose` for docker. It reports whether the command is
// available.
func (c *containers) plugin(t *testing.T) bool {
	t.Helper()
	path := os.Getenv(composePlugin)
	if path == "" {
		return c.command(t.Context(), "docker", "compose", "version").Run() == nil
	}
	config := t.TempDir()
	plugins := filepath.Join(config, "cli-plugins")
	if err := errors.Join(os.Mkdir(plugins, 0o755), os.Symlink(path, filepath.Join(plugins, "docker-compose"))); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "DOCKER_CONFIG="+config)
	t.Log(must(t, c.command(t.Context(), "docker", "compose", "version")))
	return true
}

// downDuringRun takes the rack down during a live run. Only the volume with the journal
// remains, and the journal replays. Then downDuringRun removes the volume too.
func (c *containers) downDuringRun(t *testing.T, address string) {
	t.Helper()
	say := func(args ...string) {
		cmd := c.command(t.Context(), program, args...)
		cmd.Env = append(cmd.Env, "RACKFAB_ADDRESS="+address)
		must(t, cmd)
	}
	say("up", "pcn-16to2", "--scheme", "pfc", "--controller", address, "--paused")
	say("step", "300us")
	say("burst", "--from", "h2..h15", "--to", "r1", "--size", "16KB")
	say("resume")
	c.down(t)
	c.left(t, "container", "network")
	if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the controller's port: %v, %v", conn, err)
	}
	file := filepath.Join(t.TempDir(), "journal.yaml")
	volume := must(t, c.command(t.Context(), "docker", "volume", "ls", "--quiet", "--filter", c.label(), "--filter", "label=com.docker.compose.volume=journal"))
	id := must(t, c.command(t.Context(), "docker", "create", "--label", "com.docker.compose.project="+c.project,
		"--volume", volume+":"+filepath.Dir(compose.Journal), c.image))
	must(t, c.command(t.Context(), "docker", "cp", id+":"+compose.Journal, file))
	must(t, c.command(t.Context(), "docker", "rm", id))
	t.Logf("replay of the journal after the rack was removed:\n%s", must(t, c.command(t.Context(), program, "replay", file)))
	c.down(t, "--volumes")
	c.left(t, "container", "network", "volume")
}

// left fails the test if objects of those kinds remain of the rack.
func (c *containers) left(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		args := []string{kind, "ls", "--quiet", "--filter", c.label()}
		if kind == "container" {
			args = append(args, "--all")
		}
		if left := must(t, c.command(t.Context(), "docker", args...)); left != "" {
			t.Errorf("%s left behind: %s", kind, strings.Fields(left))
		}
	}
}

// composing returns the command of the Compose tool under test.
func (c *containers) composing(ctx context.Context, args ...string) *exec.Cmd {
	if c.v2 {
		return c.command(ctx, "docker", append([]string{"compose"}, args...)...)
	}
	return c.command(ctx, "docker-compose", args...)
}

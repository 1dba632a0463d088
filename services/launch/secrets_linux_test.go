package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/spawn"
)

// No secret of a rack is in the arguments or the environment of a process, in a log,
// or in a file that the rack has written.
func TestSecretsAreNotVisible(t *testing.T) {
	var log bytes.Buffer
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r, err := Start(t.Context(), Options{Groups: single(parse(t, pair)), Env: childEnv, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if _, err := r.Run(t.Context(), &controller.Request{RunId: "a", Scenario: []byte(pair), Quiet: true}, nil); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"the rack, printed": fmt.Sprintf("%v %+v", r.keys, r.secrets("h0"))}
	for _, p := range r.all() {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID(), file))
			if err != nil {
				t.Fatal(err)
			}
			shown[p.Name()+" "+file] = string(text)
		}
	}
	r.Close()
	shown["log"] = log.String()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown[file] = string(text)
	}
	for place, text := range shown {
		for _, k := range r.keys {
			if strings.Contains(text, k.Seed()) {
				t.Errorf("a key is visible in %s", place)
			}
		}
	}
	if len(r.keys) != 4 || len(shown) < 11 || !strings.Contains(shown["h0 cmdline"], "--name\x00h0") {
		t.Errorf("searched for %d secrets in %d places", len(r.keys), len(shown))
	}
}

// TRUST-12: The stacks that processes write when they crash contain no secret: each process of a
// rack ends by SIGQUIT, and another one by a panic with all that it was given, its key and
// its login among them.
func TestCrashesShowNoSecrets(t *testing.T) {
	var log bytes.Buffer
	r, err := Start(t.Context(), Options{Groups: single(parse(t, pair)), Env: append(childEnv, "GOTRACEBACK=system"), Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if _, err := r.Run(t.Context(), &controller.Request{RunId: "a", Scenario: []byte(pair), Quiet: true}, nil); err != nil {
		t.Fatal(err)
	}
	given := r.secrets("h0")
	given.Access.Login = bus.Login{User: "planted-user", Password: "correct-horse-battery-staple"}
	broken, err := r.spawner.Start(spawn.Command{Name: "broken", Role: "panic", Secrets: given})
	if err != nil {
		t.Fatal(err)
	}
	processes := append(r.all(), broken)
	for _, p := range r.all() {
		if err := syscall.Kill(p.PID(), syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range processes {
		<-p.Done()
	}
	r.Close()
	text := log.String()
	for _, p := range processes {
		if !strings.Contains(text, p.Name()+": goroutine ") {
			t.Errorf("%s wrote no stack", p.Name())
		}
	}
	if !strings.Contains(text, "broken: panic: ") || !strings.Contains(text, "[login]") {
		t.Error("no panic with the secrets")
	}
	hidden := []string{given.Access.Login.User, given.Access.Login.Password}
	for _, k := range r.keys {
		hidden = append(hidden, k.Seed())
	}
	for _, secret := range hidden {
		if strings.Contains(text, secret) {
			t.Errorf("a crash shows a secret")
		}
	}
	if len(hidden) != 2+4 {
		t.Errorf("searched for %d secrets", len(hidden))
	}
}

// The login of an external bus is passed in the same way as a key.
func TestExternalLoginIsNotOnTheCommandLine(t *testing.T) {
	r, err := newRack(Options{Bus: "nats://root:hunter2@127.0.0.1:4222"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.url != "nats://127.0.0.1:4222" {
		t.Errorf("URL on the command lines: %s", r.url)
	}
	if login := r.secrets("h0").Access.Login; login.Password != "hunter2" {
		t.Errorf("secret login: %s, %q", login.User, login.Password)
	}
}

package processes

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/identity"
)

// hearing is a log that passes what a process waits for to a function.
type hearing func(what string)

func (h hearing) Write(line []byte) (int, error) {
	if _, what, ok := strings.Cut(string(line), `"waits for `); ok {
		what, _, _ = strings.Cut(what, `"`)
		h(what)
	}
	return len(line), nil
}

// hear passes what processes wait for to a function until the end of the test.
func hear(t *testing.T, h hearing) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(h, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// TRUST-13: A process waits for files that a volume brings late, then for the bus, and says each once.
func TestProcessWaitsForLateFiles(t *testing.T) {
	store, late := t.TempDir(), filepath.Join(t.TempDir(), "certs")
	if err := identity.Make(store, []string{"h0"}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	bring := func(from, to string) {
		if err := os.Rename(filepath.Join(store, from), filepath.Join(late, to)); err != nil {
			t.Error(err)
		}
	}
	key := filepath.Join(late, "key")
	ctx, end := context.WithCancel(t.Context())
	var heard []string
	hear(t, func(what string) {
		heard = append(heard, what)
		switch what {
		case "the certificate of h0 in " + late:
			if err := os.Mkdir(late, 0o700); err != nil {
				t.Error(err)
			}
			bring("h0", "h0")
		case "the key file " + key:
			bring("controller/nkey", "key")
		default:
			end()
		}
	})
	c := command(t, "nic", "--name", "h0", "--tls", late, "--nkey", key, "--bus", "nats://127.0.0.1:1", "--wait", "1h")
	if err := c.ExecuteContext(ctx); err == nil {
		t.Error("a process without a bus has served")
	}
	if want := []string{"the certificate of h0 in " + late, "the key file " + key, "the bus at nats://127.0.0.1:1"}; !slices.Equal(heard, want) {
		t.Errorf("waited for %q, want %q", heard, want)
	}
}

// TRUST-13: The bus waits for the folder of keys, and for a key in it.
func TestBusWaitsForLateKeys(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	node := filepath.Join(keys, "h0")
	ctx, end := context.WithCancel(t.Context())
	var heard []string
	hear(t, func(what string) {
		heard = append(heard, what)
		if err := os.MkdirAll(node, 0o700); err != nil {
			t.Error(err)
		}
		if err := identity.MakeKeys(keys); err != nil {
			t.Error(err)
		}
	})
	c := command(t, "bus", "--keys", keys, "--wait", "1h")
	c.SetOut(writer(func() { end() }))
	if err := c.ExecuteContext(ctx); err != nil || !slices.Equal(heard, []string{"the keys in " + keys}) {
		t.Errorf("waited for %q: %v", heard, err)
	}
}

// writer calls a function when a process says that it is ready.
type writer func()

func (w writer) Write(line []byte) (int, error) { w(); return len(line), nil }

// command returns a command with its arguments.
func command(t *testing.T, args ...string) *cobra.Command {
	t.Helper()
	t.Setenv("GOMAXPROCS", "2") // nodes must not change this process's setting
	t.Setenv("GOGC", "100")
	parent := &cobra.Command{SilenceUsage: true, SilenceErrors: true}
	parent.AddCommand(Commands()...)
	parent.SetArgs(args)
	parent.SetOut(io.Discard)
	return parent
}

func TestInvalidWait(t *testing.T) {
	err := command(t, "nic", "--name", "h0", "--bus", "nats://127.0.0.1:1", "--wait", "-1s").ExecuteContext(t.Context())
	if err == nil || err.Error() != "--wait -1s: must be 0 or a duration such as 30s" {
		t.Error(err)
	}
}

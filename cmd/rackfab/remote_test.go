package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// background runs the main function of a process of a rack until the end of the test.
// It returns the process's address once the process answers.
func background(t *testing.T, main func(context.Context, io.Writer) error) string {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := main(ctx, w)
		w.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(r).ReadBytes('\n')
	var ready struct{ Address string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ready.Address
}

// remoteRack starts a bus, a controller, the named NICs and the switch s0, as a user
// starts them without a launcher. The controller waits for its nodes for limit. It
// returns the controller's address.
func remoteRack(t *testing.T, limit time.Duration, nics ...string) string {
	t.Helper()
	t.Setenv("GOMAXPROCS", "2") // nodes must not change this process's setting
	t.Setenv("GOGC", "100")
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	for _, name := range nics {
		background(t, func(ctx context.Context, w io.Writer) error {
			return nic.Main(ctx, nic.Options{Name: name, Bus: server.URL(), Rack: "rack", Ready: w})
		})
	}
	background(t, func(ctx context.Context, w io.Writer) error {
		return switchd.Main(ctx, switchd.Options{Name: "s0", Bus: server.URL(), Rack: "rack", Ready: w})
	})
	return background(t, func(ctx context.Context, w io.Writer) error {
		return controller.Main(ctx, controller.Options{Bus: server.URL(), Rack: "rack", NodeLimit: limit, Ready: w})
	})
}

// star returns the scenario star-2, shortened.
func star(t *testing.T) *topology.Scenario {
	t.Helper()
	s, err := load.Scenario(io.Discard, "star-2")
	if err != nil {
		t.Fatal(err)
	}
	s.Scheme = "pcn"
	return s
}

// on runs s on the engine that the flags select.
func on(t *testing.T, s *topology.Scenario, f engine.Flags) (digest string, err error) {
	t.Helper()
	e, err := engine.New(t.Context(), s, f)
	if err != nil {
		return "", err
	}
	defer e.Close()
	out, err := e.Run(t.Context(), s, func(engine.Advance) {}, engine.Want{})
	if err != nil {
		return "", err
	}
	return out.Digest, nil
}

func TestRemoteRunMatchesMemory(t *testing.T) {
	s := star(t)
	want, err := on(t, s, engine.Flags{Bus: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	rack := engine.Flags{Bus: "nats", Controller: remoteRack(t, controller.NodeLimit, "h0", "h1", "r0")}
	for range 2 { // the rack stays up
		if got, err := on(t, s, rack); got != want || err != nil {
			t.Errorf("digest %s, %v, want %s", got, err, want)
		}
	}
}

func TestRemoteRackErrors(t *testing.T) {
	incomplete := remoteRack(t, time.Second, "h0")
	node := background(t, func(ctx context.Context, w io.Writer) error {
		server, err := bus.StartServer("", bus.Guard{Open: true})
		if err != nil {
			return err
		}
		defer server.Shutdown()
		return nic.Main(ctx, nic.Options{Name: "h0", Bus: server.URL(), Rack: "rack", Ready: w})
	})
	for _, tt := range []struct{ address, want string }{
		{incomplete, "controller at " + incomplete + ": nodes that did not come up: h1, r0 within 1s"},
		{node, node + " is not a controller"},
		{"127.0.0.1:1", "--controller: not reachable: 127.0.0.1:1: "},
		{"nats://127.0.0.1:1", "invalid controller address \"nats://127.0.0.1:1\": must be HOST:PORT"},
		{"here", "invalid controller address \"here\": must be HOST:PORT"},
	} {
		_, err := on(t, star(t), engine.Flags{Bus: "nats", Controller: tt.address})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}

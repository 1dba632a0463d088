package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/spawn"
)

// newBus starts a bus and returns its URL and a connection.
func newBus(t *testing.T) (url string, conn bus.Conn) {
	t.Helper()
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	if conn, err = bus.DialAs(server.URL(), t.Name(), bus.Access{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return server.URL(), conn
}

// startFree starts a free worker until the end of the test, or until stop, which returns
// its error.
func startFree(t *testing.T, url string, env ...string) (client rackfabv1.WorkerServiceClient, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, line := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Free(ctx, FreeOptions{Name: "w0", Cores: 3, Bus: url, Ready: line, Children: spawn.Options{Env: slices.Concat(childEnv, env)}})
		line.Close()
	}()
	var there serve.Ready
	if err := json.NewDecoder(ready).Decode(&there); err != nil {
		t.Fatal(err, <-ended)
	}
	conn, err := serve.DialAs(there.Address, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	stop = func() error { cancel(); err := <-ended; ended <- err; return err }
	t.Cleanup(func() { _ = conn.Close(); _ = stop() })
	return rackfabv1.NewWorkerServiceClient(conn), stop
}

// lend opens a Host stream and receives that the worker is lent.
func lend(t *testing.T, client rackfabv1.WorkerServiceClient) rackfabv1.WorkerService_HostClient {
	t.Helper()
	stream, err := client.Host(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetLent().GetCores() != 3 {
		t.Fatalf("got %v, %v", m, err)
	}
	return stream
}

// host sends a rack of two groups.
func host(t *testing.T, stream rackfabv1.WorkerService_HostClient) {
	t.Helper()
	rack := &rackfabv1.HostedRack{Name: "r", Groups: []*rackfabv1.HostedGroup{{Name: "h0", Nics: "h0..h1", Switches: "s0"}, {Name: "s1", Switches: "s1"}}}
	if err := stream.Send(&rackfabv1.HostRequest{Rack: rack}); err != nil {
		t.Fatal(err)
	}
}

// nodesOfRack returns the nodes of the rack once there are n.
func nodesOfRack(t *testing.T, conn bus.Conn, n int) (pids map[string]int) {
	t.Helper()
	d, err := discovery.Watch(conn, "r")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range d.Rounds(t.Context()) {
		if list := d.Nodes(); len(list) == n {
			pids = map[string]int{}
			for _, h := range list {
				pids[h.Name] = h.PID
			}
			break
		}
	}
	return pids
}

// A worker is lent to one client at a time, starts a process for each of its groups, and
// ends them when the client closes its side. Then it is free again.
func TestHostRunsTheGroupsOfOneClient(t *testing.T) {
	url, conn := newBus(t)
	client, stop := startFree(t, url)
	for range 2 {
		stream := lend(t, client)
		other, err := client.Host(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Recv(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "worker w0 is lent to another client") {
			t.Errorf("second client: %v", err)
		}
		host(t, stream)
		var ready []string
		for range 2 {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			ready = append(ready, m.GetReady().GetName())
		}
		slices.Sort(ready)
		pids := nodesOfRack(t, conn, 4)
		if !slices.Equal(ready, []string{"h0", "s1"}) || pids["h0"] != pids["h1"] || pids["h0"] != pids["s0"] || pids["h0"] == pids["s1"] {
			t.Errorf("ready %v, processes %v", ready, pids)
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v, %v", m, err)
		}
		for name, pid := range pids {
			if !gone(pid) {
				t.Errorf("process %d of %s is left", pid, name)
			}
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The worker reports which process has ended, and how.
func TestHostReportsTheEndOfAProcess(t *testing.T) {
	url, conn := newBus(t)
	client, _ := startFree(t, url, brokenVariable+"=s1")
	stream := lend(t, client)
	host(t, stream)
	ended := func() *rackfabv1.ProcessEnded {
		for {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if e := m.GetEnded(); e != nil {
				return e
			}
		}
	}
	if e := ended(); e.GetName() != "s1" || e.GetNodes() != 1 || e.GetState() != "exit status 1" || !slices.Contains(e.GetLog(), "s1 is out of order") {
		t.Errorf("broken: %v", e)
	}
	pid := nodesOfRack(t, conn, 3)["h0"]
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if e := ended(); e.GetName() != "h0" || e.GetNodes() != 3 || int(e.GetPid()) != pid || e.GetState() != "signal: killed" {
		t.Errorf("killed: %v", e)
	}
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// A worker that is stopped says so to its client, and leaves no process.
func TestStoppedWorkerEndsItsProcesses(t *testing.T) {
	url, conn := newBus(t)
	client, stop := startFree(t, url)
	stream := lend(t, client)
	host(t, stream)
	pids := nodesOfRack(t, conn, 4)
	if err := stop(); err != nil {
		t.Error(err)
	}
	for name, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d of %s is left", pid, name)
		}
	}
	for {
		if _, err := stream.Recv(); err != nil {
			if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "worker w0 has been stopped") {
				t.Errorf("got %v", err)
			}
			return
		}
	}
}

// A worker checks a rack before it starts a process.
func TestInvalidRacksAreRefused(t *testing.T) {
	url, _ := newBus(t)
	client, _ := startFree(t, url)
	group := &rackfabv1.HostedGroup{Name: "h0", Nics: "h0"}
	for want, rack := range map[string]*rackfabv1.HostedRack{
		"rack.name":      {Name: "a.b", Groups: []*rackfabv1.HostedGroup{group}},
		"0 groups":       {Name: "r"},
		"rack.groups[1]": {Name: "r", Groups: []*rackfabv1.HostedGroup{group, {Name: "h1", Nics: "h1..", Switches: "s0"}}},
		"name \"h1\"":    {Name: "r", Groups: []*rackfabv1.HostedGroup{{Name: "h1", Nics: "h0"}}},
	} {
		stream := lend(t, client)
		if err := stream.Send(&rackfabv1.HostRequest{Rack: rack}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A second live worker of a name is refused by name.
func TestSecondWorkerOfANameIsRefused(t *testing.T) {
	url, _ := newBus(t)
	startFree(t, url)
	err := Free(t.Context(), FreeOptions{Name: "w0", Bus: url, Children: spawn.Options{Env: childEnv}})
	var refused *discovery.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "worker w0 at 127.0.0.1:") || !strings.Contains(err.Error(), "the bus has a live worker of that name, at 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}

// Children listen on the ports that follow that of the worker, or on free ones.
func TestPortsOfChildren(t *testing.T) {
	for _, tt := range []struct{ listen, announced, want, advertise string }{
		{"", "127.0.0.1:41234", "127.0.0.1:0", "127.0.0.1"},
		{"0.0.0.0:7000", "192.0.2.2:7000", "0.0.0.0:7003", "192.0.2.2"},
		{"[::]:7000", "[2001:db8::2]:8000", "[::]:7003", "2001:db8::2"},
		{"192.0.2.2:0", "w0.example:41234", "192.0.2.2:0", "w0.example"},
	} {
		w := &free{o: FreeOptions{Listen: tt.listen}}
		if err := w.setPorts(tt.announced); err != nil || w.listen(2) != tt.want || w.advertise != tt.advertise {
			t.Errorf("%s: %s, %s, %v", tt.listen, w.listen(2), w.advertise, err)
		}
	}
}

// A process of one node has the role of its kind, one of several is a worker.
func TestRole(t *testing.T) {
	for _, tt := range []struct {
		g    *rackfabv1.HostedGroup
		want string
	}{
		{&rackfabv1.HostedGroup{Name: "h0", Nics: "h0"}, "nic --name h0"},
		{&rackfabv1.HostedGroup{Name: "s0", Switches: "s0"}, "switch --name s0"},
		{&rackfabv1.HostedGroup{Name: "h0", Nics: "h0..h3", Switches: "s0"}, "worker --name h0 --nics h0..h3 --switches s0"},
		{&rackfabv1.HostedGroup{Name: "s0", Switches: "s0..s1"}, "worker --name s0 --switches s0..s1"},
	} {
		role, flags := Role(tt.g)
		if got := strings.Join(append([]string{role}, flags...), " "); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

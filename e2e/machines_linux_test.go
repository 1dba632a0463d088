package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rackOfMachines is leaf-spine on three machines: two with leaves and their hosts, one with the
// spines.
var rackOfMachines = []struct{ name, nics, switches string }{
	{"h0", "h0..h15", "leaf0,leaf1"},
	{"h16", "h16..h31", "leaf2,leaf3"},
	{"spine0", "", "spine0..spine3"},
}

// metricsAt is the address of the metrics of a worker, in its own machine.
const metricsAt = "127.0.0.1:9464"

// Three machines, 1 ms from each other, with a server of the bus in each, run the rack of
// one machine. If a server is killed, its processes use another one, and the digest stays.
func TestMachinesMatchMemory(t *testing.T) {
	net := newLAN(t, len(rackOfMachines), time.Millisecond)
	certs := filepath.Join(t.TempDir(), "certs")
	var hosts, bus, cluster, workers []string
	for i, m := range rackOfMachines {
		hosts = append(hosts, net.host(i))
		bus = append(bus, "nats://"+net.host(i)+":4222")
		cluster = append(cluster, net.host(i)+":6222")
		workers = append(workers, "--worker", strings.Trim(m.nics+","+m.switches, ","))
	}
	must(t, exec.Command(program, "certs", "leaf-spine", "--dir", certs, "--host", strings.Join(hosts, ",")))

	var servers []*exec.Cmd
	for i := range rackOfMachines {
		servers = append(servers, net.in(i, append([]string{
			"bus", "--listen", net.host(i) + ":4222", "--cluster", cluster[i], "--routes", strings.Join(cluster, ","),
			"--keys", certs, "--tls", certs,
		}, workers...)...))
	}
	serveAs(t, servers[0])
	serveAs(t, servers[2])
	killable(t, servers[1])
	member := func(i int, role, name, port string, more ...string) *exec.Cmd {
		near := bus[i] // the server of the machine, then the others
		for _, url := range bus {
			if url != bus[i] {
				near += "," + url
			}
		}
		return net.in(i, append([]string{
			role, "--bus", near, "--nkey", filepath.Join(certs, name, "nkey"), "--tls", certs, "--listen", net.host(i) + port,
		}, more...)...)
	}
	serveAs(t, member(0, "controller", "controller", ":7000"))
	for i, m := range rackOfMachines {
		serveAs(t, member(i, "worker", m.name, ":7001", "--name", m.name, "--nics", m.nics, "--switches", m.switches, "--metrics-listen", metricsAt))
	}

	flags := []string{"run", "leaf-spine", "--scheme", "pcn", "--duration", "1ms"}
	far := startAs(t, net.in(0, append(flags, "--controller", net.host(0)+":7000", "--tls", certs)...))
	far.underWay(t)
	if n := reconnects(t, net, 1); n != 0 {
		t.Errorf("the worker has reconnected %d times before its server is killed", n)
	}
	if err := servers[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	got := digests(far.results(t))
	if n := reconnects(t, net, 1); n == 0 {
		t.Error("the worker has not reconnected: the run ended before its server was killed")
	}
	want := digests(startAs(t, exec.Command(program, append(flags, "--bus", "memory")...)).results(t))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests differ (-memory +machines):\n%s", diff)
	}
}

// killable starts a process that serves and may end before the test does.
func killable(t *testing.T, c *exec.Cmd) {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
}

// reconnects returns how often the worker in machine i has reconnected to the bus.
func reconnects(t *testing.T, net *lan, i int) int {
	t.Helper()
	text := net.metrics(t, i, metricsAt)
	m := regexp.MustCompile(`(?m)^rackfab_bus_reconnects_total(?:{.*})? (\d+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no number of reconnections in\n%s", text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// machines are a LAN with the certificates and keys of the members.
type machines struct {
	*lan
	dir     string   // contains the folder certs
	workers []string // flags of the bus
}

// newMachines creates n machines, 1 ms from each other, for leaf-spine on a list of workers.
func newMachines(t *testing.T, n int, workers []workerNodes) *machines {
	t.Helper()
	m := &machines{newLAN(t, n, time.Millisecond), t.TempDir(), asWorkers(workers)}
	args := []string{"certs", "leaf-spine", "--output", m.certs(), "--host", strings.Join(m.each(n, "", ""), ",")}
	for _, w := range workers {
		if w.free() {
			args = append(args, "--worker", w.name)
		}
	}
	must(t, exec.Command(program, args...))
	return m
}

func (m *machines) certs() string { return filepath.Join(m.dir, "certs") }

// each returns the addresses of the first n machines with a prefix and a suffix.
func (m *machines) each(n int, prefix, suffix string) (list []string) {
	for i := range n {
		list = append(list, prefix+m.host(i)+suffix)
	}
	return list
}

// rackfabBus returns the command of server i of a cluster of n.
func (m *machines) rackfabBus(_ *testing.T, i, n int) *exec.Cmd {
	return m.in(i, append([]string{
		"bus", "--listen", m.host(i) + ":4222", "--cluster", m.host(i) + ":6222", "--routes", strings.Join(m.each(n, "", ":6222"), ","),
		"--keys", m.certs(), "--tls", m.certs(),
	}, m.workers...)...)
}

// member returns the command of a process in machine i, which prefers the server there.
func (m *machines) member(i, servers int, role, name, port string, more ...string) *exec.Cmd {
	return m.in(i, append([]string{
		role, "--bus", m.bus(i, servers), "--nkey", filepath.Join(m.certs(), name, "nkey"), "--tls", m.certs(),
		"--listen", m.host(i) + port,
	}, more...)...)
}

// bus returns the servers of the bus, that of machine i first.
func (m *machines) bus(i, servers int) string {
	list := m.each(servers, "nats://", ":4222")
	return strings.Join(append(list[i:], list[:i]...), ",")
}

// nodes starts workers in their machines, and the controller in machine 0 unless they are
// free.
func (m *machines) nodes(t *testing.T, servers int, workers []workerNodes) {
	t.Helper()
	if !workers[0].free() {
		serveAs(t, m.member(0, servers, "controller", "controller", ":7000"))
	}
	for _, w := range workers {
		port, flags := ":0", []string{"--nics", w.nics, "--switches", w.switches}
		if w.free() {
			port, flags = ":7001", []string{"--cores", "1"} // its process listens on 7002
		}
		serveAs(t, m.member(w.machine, servers, "worker", w.name, port, append(flags, "--name", w.name, "--metrics-listen", w.metrics())...))
	}
}

// run starts leaf-spine on workers, for a fabric time.
func (m *machines) run(t *testing.T, duration string, workers []workerNodes) *run {
	t.Helper()
	args := []string{"run", "leaf-spine", "--scheme", "pcn", "--duration", duration, "--tls", m.certs()}
	if workers[0].free() {
		args = append(args, "--workers", strconv.Itoa(len(workers)), "--nats-url", m.bus(0, len(workers)), "--nats-nkey", filepath.Join(m.certs(), "controller", "nkey"))
	} else {
		args = append(args, "--controller", m.host(0)+":7000")
	}
	return startAs(t, m.in(0, args...))
}

// memory returns the digests of the same run in memory.
func (m *machines) memory(t *testing.T, duration string) map[string]string {
	t.Helper()
	return digests(start(t, "leaf-spine", "--scheme", "pcn", "--duration", duration, "--bus", "memory").results(t))
}

// Three machines, with a server of the bus in each, run the rack of one machine. If a
// server is killed, its processes use another one, and the digest stays. The servers are
// `rackfab bus`, and a stock nats-server with the file of the guide; the workers have fixed
// nodes, or are free.
func TestMachinesMatchMemory(t *testing.T) {
	const duration = "1ms"
	for name, tt := range map[string]struct {
		server  func(m *machines, t *testing.T, i, n int) *exec.Cmd
		workers []workerNodes
	}{
		"rackfab": {(*machines).rackfabBus, rackOfMachines}, "nats-server": {(*machines).stockCluster, rackOfMachines},
		"free workers": {(*machines).rackfabBus, freeMachines},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "rackfab" {
				slowtest.Skip(t, "runs the rack of machines once more")
			}
			n := len(tt.workers)
			m := newMachines(t, n, tt.workers)
			var servers []*exec.Cmd
			for i := range n {
				servers = append(servers, tt.server(m, t, i, n))
				m.killable(t, i, servers[i])
			}
			m.nodes(t, n, tt.workers)
			r := m.run(t, duration, tt.workers)
			r.underWay(t)
			second := tt.workers[1]
			if n := m.metric(t, second, "rackfab_bus_reconnects_total"); n != 0 {
				t.Errorf("the worker has reconnected %d times before its server is killed", n)
			}
			if err := servers[1].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			got := digests(r.results(t))
			if m.metric(t, second, "rackfab_bus_reconnects_total") == 0 {
				t.Error("the worker has not reconnected: the run ended before its server was killed")
			}
			if diff := cmp.Diff(m.memory(t, duration), got); diff != "" {
				t.Errorf("digests differ (-memory +machines):\n%s", diff)
			}
		})
	}
}

// The leaf node of a machine keeps the traffic of that machine's processes to itself.
func TestLeafNodeKeepsLocalTraffic(t *testing.T) {
	const duration = "1ms"
	m := newMachines(t, 2, rackOfLeafNode)
	m.killable(t, 0, m.stock(t, 0, "cluster.conf"))
	m.killable(t, 1, m.stock(t, 1, "leaf.conf"))
	m.nodes(t, 2, rackOfLeafNode)
	if diff := cmp.Diff(m.memory(t, duration), digests(m.run(t, duration, rackOfLeafNode).results(t))); diff != "" {
		t.Errorf("digests differ (-memory +machines):\n%s", diff)
	}
	sent := m.metric(t, rackOfLeafNode[1], "rackfab_envelopes_sent_total") + m.metric(t, rackOfLeafNode[2], "rackfab_envelopes_sent_total")
	var leaf struct {
		Leafs []struct {
			In  int `json:"in_msgs"`
			Out int `json:"out_msgs"`
		}
	}
	if err := json.Unmarshal([]byte(m.get(t, 1, "http://127.0.0.1:8222/leafz")), &leaf); err != nil || len(leaf.Leafs) != 1 {
		t.Fatalf("%+v, %v", leaf, err)
	}
	// The envelopes between leaves and spines cross, a third; and some announcements.
	crossed := leaf.Leafs[0].Out
	t.Logf("%d of %d envelopes leave the machine", crossed, sent)
	if sent < 500 || crossed > sent/2 || crossed < sent/4 {
		t.Errorf("%d of %d envelopes leave the machine, want a third of 500 or more", crossed, sent)
	}
}

// stockCluster returns the command of server i of a cluster of nats-servers.
func (m *machines) stockCluster(t *testing.T, i, _ int) *exec.Cmd {
	t.Helper()
	return m.stock(t, i, "cluster.conf")
}

// stock returns the command of a nats-server in machine i, in a folder as the guide has it.
func (m *machines) stock(t *testing.T, i int, config string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(m.dir, "nats-server")
	if _, err := os.Stat(path); err != nil {
		must(t, exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2"))
		users := must(t, exec.Command(program, append([]string{"bus", "--keys", m.certs(), "--print-users"}, m.workers...)...))
		if err := os.WriteFile(filepath.Join(m.dir, "users.conf"), []byte(users), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(m.dir, os.DirFS("../deploy/nats")); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("ip", "netns", "exec", m.ports[i].namespace, path, "--config", config)
	c.Dir, c.Env = m.dir, append(os.Environ(), "RACKFAB_HOST="+m.host(i))
	return c
}

// killable starts a server of the bus in machine i and waits until it serves. It may end
// before the test does.
func (m *machines) killable(t *testing.T, i int, c *exec.Cmd) {
	t.Helper()
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-ended })
	for m.in(i, "health", "nats://"+m.host(i)+":4222", "--tls", m.certs()).Run() != nil {
		select {
		case <-ended:
			t.Fatalf("%v ended: %s", c.Args, &log)
		default:
		}
	}
}

// workerNodes are the nodes of a worker, none of a free one, and its machine.
type workerNodes struct {
	machine              int
	name, nics, switches string
}

func (w workerNodes) free() bool { return w.nics == "" && w.switches == "" }

// metrics returns the address of the metrics of a worker, in its own machine.
func (w workerNodes) metrics() string {
	return map[bool]string{true: "127.0.0.1:9464", false: "127.0.0.1:9465"}[w.nics != ""]
}

// rackOfMachines is leaf-spine on three machines: two with leaves and their hosts, one with
// the spines. In rackOfLeafNode, one machine has two workers. In freeMachines, each has a
// free worker.
var (
	rackOfMachines = []workerNodes{
		{0, "h0", "h0..h15", "leaf0,leaf1"}, {1, "h16", "h16..h31", "leaf2,leaf3"}, {2, "spine0", "", "spine0..spine3"},
	}
	rackOfLeafNode = []workerNodes{
		{0, "h0", "h0..h15", "leaf0,leaf1,spine0..spine3"}, {1, "h16", "h16..h31", ""}, {1, "leaf2", "", "leaf2,leaf3"},
	}
	freeMachines = []workerNodes{{0, "w0", "", ""}, {1, "w1", "", ""}, {2, "w2", "", ""}}
)

// asWorkers returns the flags of the bus that name workers.
func asWorkers(list []workerNodes) (flags []string) {
	for _, w := range list {
		if w.free() {
			flags = append(flags, "--free-worker", w.name)
		} else {
			flags = append(flags, "--worker", strings.Trim(w.nics+","+w.switches, ","))
		}
	}
	return flags
}

// metric returns a metric of a worker without its labels.
func (m *machines) metric(t *testing.T, w workerNodes, name string) int {
	t.Helper()
	text := m.get(t, w.machine, "http://"+w.metrics()+"/metrics")
	found := regexp.MustCompile(`(?m)^` + name + `(?:{.*})? (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in\n%s", name, text)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

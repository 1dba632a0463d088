package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server" //nolint:depguard // reads the printed configuration as the server itself does
	"go.yaml.in/yaml/v3"
)

// manifest has the properties of a Kubernetes object that the test needs.
type manifest struct {
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Template struct {
			Spec struct{ Containers []struct{ Args []string } }
		}
	}
}

// manifests returns printed manifests by kind and name.
func manifests(t *testing.T, text string) map[string]manifest {
	t.Helper()
	all := map[string]manifest{}
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[m.Kind+" "+m.Metadata.Name] = m
	}
}

// args returns the command line of an object's container, with the cluster's addresses and
// files replaced.
func (m *manifest) args(in *strings.Replacer) (list []string) {
	for _, word := range m.Spec.Template.Spec.Containers[0].Args {
		list = append(list, in.Replace(word))
	}
	return list
}

// freePort returns a loopback address that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it accepted no connection
	return l.Addr().String()
}

// natsCluster starts the servers of a bus from its printed configuration, and returns the
// replacements of their addresses.
func natsCluster(t *testing.T, config string) (addresses []string) {
	t.Helper()
	const size = 3
	var clients, routes [size]string
	for i := range size {
		clients[i], routes[i] = freePort(t), freePort(t)
		addresses = append(addresses, fmt.Sprintf("bus-%d.bus:4222", i), clients[i], fmt.Sprintf("bus-%d.bus:6222", i), routes[i])
	}
	for i := range size {
		t.Setenv("SERVER_NAME", fmt.Sprintf("bus-%d", i))
		own := strings.NewReplacer(append([]string{"0.0.0.0:4222", clients[i], "0.0.0.0:6222", routes[i], "0.0.0.0:8222", freePort(t)}, addresses...)...)
		file := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(file, []byte(own.Replace(config)), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := server.ProcessConfigFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o.NoLog, o.NoSigs = true, true
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		if !s.ReadyForConnections(time.Minute) {
			t.Fatalf("NATS server %d does not listen at %s", i, clients[i])
		}
	}
	return addresses
}

// The printed manifests, with processes instead of pods and loopback addresses instead of
// names, run a scenario as in memory: the NATS servers read the printed configuration, and
// the keys and the command lines are the printed ones. The Deployment of a live run starts
// on the same workers.
func TestPrintedKubernetesRackMatchesMemory(t *testing.T) {
	flags := []string{"--duration", short, "--scheme", "pcn"}
	have := manifests(t, must(t, exec.Command(program, append([]string{"kubernetes", "--workers", "2", "--"}, flags...)...)))
	_, collector := startCollector(t)
	dir := t.TempDir()
	addresses := append(natsCluster(t, have["ConfigMap bus"].Data["nats.conf"]),
		"collector:4317", collector, "0.0.0.0:7000", "127.0.0.1:0", "/journal/", dir+"/")
	in := map[string]*strings.Replacer{}
	for _, role := range []string{"worker", "controller"} {
		key := filepath.Join(dir, role)
		if err := os.WriteFile(key, []byte(have["Secret "+role+"-key"].StringData["nkey"]), 0o600); err != nil {
			t.Fatal(err)
		}
		in[role] = strings.NewReplacer(append(addresses, "/key/nkey", key)...)
	}
	worker, job := have["StatefulSet worker"], have["Job run"]
	for _, pod := range []string{"worker-0", "worker-1"} { // the names of their hosts
		serve(t, append(worker.args(in["worker"]), "--name", pod)...)
	}
	args := job.args(in["controller"])
	if args[0] != "run" || len(args) != len(flags)+9 {
		t.Fatalf("the job runs %q", args)
	}
	want := digests(start(t, append(flags, "--bus", "memory")...).results(t))
	if diff := cmp.Diff(want, digests(start(t, args[1:]...).results(t))); diff != "" {
		t.Errorf("digests differ (-memory +processes of the manifests):\n%s", diff)
	}
	live := manifests(t, must(t, exec.Command(program, "kubernetes", "--workers", "2", "--live")))["Deployment controller"]
	if line := serve(t, live.args(in["controller"])...); !strings.HasPrefix(line, "pcn-16to2 under pcn is up: 20 nodes") {
		t.Errorf("the live run starts with %q", line)
	}
}

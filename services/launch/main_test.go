package launch

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/nic"
	"github.com/rackfab/rackfab/services/spawn"
	switchd "github.com/rackfab/rackfab/services/switch"
	"github.com/rackfab/rackfab/services/worker"
)

// roleVariable makes the test binary a process of a rack, or a launcher.
const roleVariable = "LAUNCH_TEST_ROLE"

// childEnv makes the test binary a child. GORACE keeps a child under the race detector
// from waiting for a second before it ends.
var childEnv = []string{roleVariable + "=child", "GORACE=atexit_sleep_ms=0"}

// TestMain runs the tests, or one role in a child process.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		m.Run()
		return
	}
	if err := role(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // the main of the child
	}
}

// role is the task of a process, as in cmd/rackfab.
func role(name string, args []string) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	bus, rack := flags.String("bus", "", ""), flags.String("rack", "", "")
	nics, switches := flags.String("nics", "", ""), flags.String("switches", "", "")
	self, listen, advertise := flags.String("name", "", ""), flags.String("listen", "", ""), flags.String("advertise", "", "")
	recover, resume, journal := flags.Duration("recover", 0, ""), flags.Bool("resume", false, ""), flags.String("journal", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, secrets, err := spawn.Child(context.Background())
	if err != nil {
		return err
	}
	switch name {
	case "bus":
		return broker.Main(ctx, broker.Options{Listen: *listen, Users: secrets.Users, Ready: os.Stdout})
	case "controller":
		return controller.Main(ctx, controller.Options{
			Bus: *bus, Access: secrets.Access, Rack: *rack, Listen: *listen, Recover: *recover, Resume: *resume, Journal: *journal, Ready: os.Stdout,
		})
	case "nic":
		if *self == os.Getenv("LAUNCH_TEST_BROKEN") {
			return fmt.Errorf("%s is out of order", *self)
		}
		fmt.Fprintln(os.Stderr, "here is", *self)
		return nic.Main(ctx, nic.Options{Name: *self, Listen: *listen, Advertise: *advertise, Bus: *bus, Access: secrets.Access, Rack: *rack, Ready: os.Stdout})
	case "switch":
		return switchd.Main(ctx, switchd.Options{Name: *self, Listen: *listen, Advertise: *advertise, Bus: *bus, Access: secrets.Access, Rack: *rack, Ready: os.Stdout})
	case "worker":
		return worker.Main(ctx, worker.Options{Name: *self, Listen: *listen, Advertise: *advertise, Bus: *bus, Access: secrets.Access, Rack: *rack, Ready: os.Stdout}, *nics, *switches)
	case "panic":
		panic(fmt.Errorf("%v, %+v, %#v, %+v, %q", secrets, &secrets, secrets, secrets.Access, secrets.Access.Login))
	case "launcher":
		return launcher(ctx)
	case "stuck":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		<-make(chan struct{}) // ignores stop
	}
	return fmt.Errorf("no role %q", name)
}

// launcher starts a rack and a child that ignores stop, writes the PIDs of all
// processes as one line, and waits to be killed.
func launcher(ctx context.Context) error {
	s, err := scenariofile.Parse("pair", []byte(pair))
	if err != nil {
		return err
	}
	r, err := Start(ctx, Options{Groups: single(s)})
	if err != nil {
		return err
	}
	defer r.Close()
	stuck, err := r.spawner.Start(spawn.Command{Name: "stuck", Role: "stuck"})
	if err != nil {
		return err
	}
	var pids []string
	for _, p := range append(r.all(), stuck) {
		pids = append(pids, strconv.Itoa(p.PID()))
	}
	fmt.Fprintln(os.Stdout, strings.Join(pids, " "))
	<-ctx.Done()
	return nil
}

// single returns a group per node.
func single(s *topology.Scenario) [][]topology.Node { return Groups(s, len(s.Nodes)) }

// all returns the processes of a running rack.
func (r *Rack) all() []*spawn.Process {
	list := []*spawn.Process{r.controller.process(), r.bus.process()}
	for _, p := range r.nodes {
		list = append(list, p.process())
	}
	return list
}

// pair is two hosts behind one switch, with one flow.
const pair = `
name: pair
seed: 1
duration: 100us
scheme: pfc
nics: {h0..h1: }
switches: {s0: }
links: [{endpoints: [h0..h1, s0], rate: 40Gbps, delay: 5us}]
flows: [{name: F0, from: h0, to: h1, size: 16KB}]
`

// combine returns the digest of a run in the lab.
func combine(l *lab.Lab) uint64 {
	digests := map[string]uint64{}
	for _, r := range l.Results() {
		digests[r.Node] = r.Digest
	}
	var list []uint64
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		list = append(list, digests[name])
	}
	return node.Combine(list)
}

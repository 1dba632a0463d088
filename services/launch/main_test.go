package launch

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"
)

// roleVariable makes the test binary a process of a rack, or a launcher.
const roleVariable = "LAUNCH_TEST_ROLE"

// TestMain runs the tests, or one role in a child process.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	if err := role(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// role is what cmd/rackfab does.
func role(name string, args []string) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	bus, rack := flags.String("bus", "", ""), flags.String("rack", "", "")
	node, listen := flags.String("name", "", ""), flags.String("listen", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx := Child(context.Background())
	switch name {
	case "bus":
		return broker.Main(ctx, broker.Options{Listen: *listen, Ready: os.Stdout})
	case "controller":
		return controller.Main(ctx, controller.Options{Bus: *bus, Rack: *rack, Ready: os.Stdout})
	case "nic":
		if *node == os.Getenv("LAUNCH_TEST_BROKEN") {
			return fmt.Errorf("%s is out of order", *node)
		}
		fmt.Fprintln(os.Stderr, "here is", *node)
		return nic.Main(ctx, nic.Options{Name: *node, Bus: *bus, Rack: *rack, Ready: os.Stdout})
	case "switch":
		return switchd.Main(ctx, switchd.Options{Name: *node, Bus: *bus, Rack: *rack, Ready: os.Stdout})
	case "launcher":
		return launcher(ctx)
	case "wait":
		<-ctx.Done()
		return nil
	case "deaf":
		select {} // hears no stop
	}
	return fmt.Errorf("no role %q", name)
}

// launcher starts a rack, says that it is up, and waits to be killed. Its
// children hold its standard output open for as long as they live.
func launcher(ctx context.Context) error {
	s, err := topology.Parse("pair", []byte(pair))
	if err != nil {
		return err
	}
	r, err := Start(ctx, Options{Nodes: s.Nodes, holdOpen: os.Stdout})
	if err != nil {
		return err
	}
	defer r.Close()
	fmt.Println("up")
	<-ctx.Done()
	return nil
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

package worker

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rackfab/rackfab/services/spawn"
)

// roleVariable makes the test binary a process of nodes, and brokenVariable the name of
// the process that ends at once.
const (
	roleVariable   = "WORKER_TEST_ROLE"
	brokenVariable = "WORKER_TEST_BROKEN"
)

// childEnv makes the test binary a child. GORACE keeps a child under the race detector
// from waiting for a second before it ends.
var childEnv = []string{roleVariable + "=child", "GORACE=atexit_sleep_ms=0"}

// TestMain runs the tests, or the process of some nodes.
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

// role runs nodes, as cmd/rackfab does.
func role(name string, args []string) error {
	o, nics, switches := Options{Ready: os.Stdout}, "", ""
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	for f, value := range map[string]*string{
		"name": &o.Name, "bus": &o.Bus, "rack": &o.Rack, "listen": &o.Listen, "advertise": &o.Advertise, "nics": &nics, "switches": &switches,
	} {
		flags.StringVar(value, f, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch name {
	case "nic":
		nics = o.Name
	case "switch":
		switches = o.Name
	}
	ctx, secrets, err := spawn.Child(context.Background())
	if err != nil {
		return err
	}
	if o.Name == os.Getenv(brokenVariable) {
		return fmt.Errorf("%s is out of order", o.Name)
	}
	o.Access = secrets.Access
	return Main(ctx, o, nics, switches)
}

package main

import (
	"fmt"
	"math"
	"net"
	"path"
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

// own stands for a collector that is started with the rack.
const own = "own"

// defaultRatio is the share of messages that are followed by default.
const defaultRatio = 0.01

// telemetryFlags say what is told to a collector.
type telemetryFlags struct {
	flag    string // what the address is called
	address string // of the collector, "" or off for none, or own
	ratio   float64
	flows   string
	folder  string // of the data of an own collector
	told    *ledger
}

// add adds the flags of a command that tells nobody unless it is asked to.
func (t *telemetryFlags) add(c *cobra.Command) {
	t.flag = "telemetry"
	c.Flags().StringVar(&t.address, t.flag, "", "export to a collector of its own, with the data in the run's folder, or with --telemetry=HOST:PORT to any receiver of OTLP over gRPC")
	c.Flags().Lookup(t.flag).NoOptDefVal = own
	t.addSampling(c)
}

// addOn adds the flags of a command that has a collector unless it is told otherwise.
func (t *telemetryFlags) addOn(c *cobra.Command) {
	t.flag = "collector"
	c.Flags().StringVar(&t.address, t.flag, own, "own: start a collector; HOST:PORT: export to that one, or to any receiver of OTLP over gRPC; off: export disabled")
	t.addSampling(c)
}

// addSampling adds the flags that say which messages are followed.
func (t *telemetryFlags) addSampling(c *cobra.Command) {
	t.told = &ledger{}
	c.Flags().Float64Var(&t.ratio, "sample-ratio", defaultRatio, "share of messages traced, 0 to 1, the same messages in equal runs")
	c.Flags().StringVar(&t.flows, "sample-flows", "", "flows and commands whose messages are all traced, 'F*,get' (default: the flows without end)")
}

// check names everything that is wrong with the flags.
func (t *telemetryFlags) check() error {
	var faults []string
	if t.address == off {
		t.address = ""
	}
	if t.address != "" && t.address != own {
		if _, _, err := net.SplitHostPort(t.address); err != nil || strings.Contains(t.address, "/") {
			faults = append(faults, fmt.Sprintf("--%s %q: want HOST:PORT, %s or %s", t.flag, t.address, own, off))
		}
	}
	if math.IsNaN(t.ratio) || t.ratio < 0 || t.ratio > 1 {
		faults = append(faults, fmt.Sprintf("--sample-ratio %v: want a share from 0 to 1", t.ratio))
	}
	for _, p := range strings.Split(t.flows, ",") {
		if _, err := path.Match(p, ""); err != nil {
			faults = append(faults, fmt.Sprintf("--sample-flows: %q is no pattern: want names with * and ?", p))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return nil
}

// there is the address of a collector that is there already, "" for none.
func (t *telemetryFlags) there() string {
	if t.address == own {
		return ""
	}
	return t.address
}

// message is what the flags ask of a run's nodes, nil for nothing.
func (t *telemetryFlags) message() *rackfabv1.Telemetry {
	if t.address == "" {
		return nil
	}
	return &rackfabv1.Telemetry{SampleRatio: t.ratio, SampleFlows: t.flows}
}

// collect gives the flags of a collector that is started with a batch run, nil for
// none: it serves questions as long as the run goes on, and no page.
func (t *telemetryFlags) collect() []string {
	if t.address != own {
		return nil
	}
	return []string{"--data", t.folder, "--http", off}
}

// collect gives the flags of a collector that is started with a live rack, nil for
// none.
func (f *upFlags) collect() []string {
	if f.telemetry.address != own {
		return nil
	}
	flags := []string{"--data", f.telemetry.folder, "--http", f.http}
	if _, port, err := net.SplitHostPort(f.address); err == nil && port != "0" {
		flags = append(flags, "--controller", f.address)
	}
	return flags
}

// at is where the collector is, or where an own one listens if that is free: at the
// usual port, where commands look for it.
func (f *upFlags) at() string {
	if f.telemetry.address == own {
		return collector.Listen
	}
	return f.telemetry.there()
}

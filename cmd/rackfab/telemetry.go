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

// own is the address that denotes a collector started with the rack.
const own = "own"

// defaultRatio is the default share of messages that are sampled.
const defaultRatio = 0.01

// telemetryFlags are the settings of the export of telemetry.
type telemetryFlags struct {
	flag    string // name of the flag with the address
	address string // of the collector: "" or off disables the export, own starts one
	ratio   float64
	flows   string
	folder  string // data folder of a collector of its own
	told    *ledger
}

// add adds the flags of a command that exports only on request.
func (t *telemetryFlags) add(c *cobra.Command) {
	t.flag = "telemetry"
	c.Flags().StringVar(&t.address, t.flag, "", "export to a collector of its own, with the data in the run's folder, or with --telemetry=HOST:PORT to any receiver of OTLP over gRPC")
	c.Flags().Lookup(t.flag).NoOptDefVal = own
	t.addSampling(c)
}

// addOn adds the flags of a command that starts a collector by default.
func (t *telemetryFlags) addOn(c *cobra.Command) {
	t.flag = "collector"
	c.Flags().StringVar(&t.address, t.flag, own, "own: start a collector; HOST:PORT: export to that one, or to any receiver of OTLP over gRPC; off: export disabled")
	t.addSampling(c)
}

// addSampling adds the flags that select the sampled messages.
func (t *telemetryFlags) addSampling(c *cobra.Command) {
	t.told = &ledger{}
	c.Flags().Float64Var(&t.ratio, "sample-ratio", defaultRatio, "share of messages traced, 0 to 1, the same messages in equal runs")
	c.Flags().StringVar(&t.flows, "sample-flows", "", "flows and commands whose messages are all traced, 'F*,get' (default: the flows without end)")
}

// check checks the flags. The error lists all faults.
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

// there returns the address of a collector that already runs, or "" if the flags name
// none.
func (t *telemetryFlags) there() string {
	if t.address == own {
		return ""
	}
	return t.address
}

// message returns the telemetry settings for the nodes of a run, or nil if the export
// is disabled.
func (t *telemetryFlags) message() *rackfabv1.Telemetry {
	if t.address == "" {
		return nil
	}
	return &rackfabv1.Telemetry{SampleRatio: t.ratio, SampleFlows: t.flows}
}

// collect returns the flags of a collector that is started with a batch run, or nil if
// none is started. That collector answers queries while the run lasts. It serves no
// page.
func (t *telemetryFlags) collect() []string {
	if t.address != own {
		return nil
	}
	return []string{"--data", t.folder, "--http", off}
}

// collect returns the flags of a collector that is started with a live rack, or nil if
// none is started.
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

// at returns the address of the collector. A collector started with the rack prefers
// the default port, where commands look for it.
func (f *upFlags) at() string {
	if f.telemetry.address == own {
		return collector.Listen
	}
	return f.telemetry.there()
}

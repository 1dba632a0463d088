package telemetry

import (
	"fmt"
	"math"
	"net"
	"path"
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Own is the address that denotes a collector started with the rack.
const Own = "own"

// defaultRatio is the default share of messages that are sampled.
const defaultRatio = 0.01

// Flags are the settings of the export of telemetry.
type Flags struct {
	flag    string // name of the flag with the address
	Address string // of the collector: "" or off disables the export, own starts one
	ratio   float64
	flows   string
	Folder  string // data folder of a collector of its own
	Totals  *Totals
}

// Add adds the flags of a command that exports only on request.
func (t *Flags) Add(c *cobra.Command) {
	t.flag = "telemetry"
	c.Flags().StringVar(&t.Address, t.flag, "", "export to a collector of its own, with the data in the run's folder, or with --telemetry=HOST:PORT to any receiver of OTLP over gRPC")
	c.Flags().Lookup(t.flag).NoOptDefVal = Own
	t.addSampling(c)
}

// AddForLive adds the flags of a command that starts a collector by default.
func (t *Flags) AddForLive(c *cobra.Command) {
	t.flag = "collector"
	c.Flags().StringVar(&t.Address, t.flag, Own, "own: start a collector; HOST:PORT: export to that one, or to any receiver of OTLP over gRPC; off: export disabled")
	t.addSampling(c)
}

// addSampling adds the flags that select the sampled messages.
func (t *Flags) addSampling(c *cobra.Command) {
	t.Totals = &Totals{}
	c.Flags().Float64Var(&t.ratio, "sample-ratio", defaultRatio, "share of messages traced, 0 to 1, the same messages in equal runs")
	c.Flags().StringVar(&t.flows, "sample-flows", "", "flows and commands whose messages are all traced, 'F*,get' (default: the flows without end)")
}

// Check checks the flags. The error lists all faults.
func (t *Flags) Check() error {
	var faults []string
	if t.Address == Off {
		t.Address = ""
	}
	if t.Address != "" && t.Address != Own {
		if _, _, err := net.SplitHostPort(t.Address); err != nil || strings.Contains(t.Address, "/") {
			faults = append(faults, fmt.Sprintf("--%s %q: want HOST:PORT, %s or %s", t.flag, t.Address, Own, Off))
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

// Receiver returns the address of a collector that already runs, or "" if the flags name
// none.
func (t *Flags) Receiver() string {
	if t.Address == Own {
		return ""
	}
	return t.Address
}

// message returns the telemetry settings for the nodes of a run, or nil if the export
// is disabled.
func (t *Flags) message() *rackfabv1.Telemetry {
	if t.Address == "" {
		return nil
	}
	return &rackfabv1.Telemetry{SampleRatio: t.ratio, SampleFlows: t.flows}
}

// Collect returns the flags of a collector that is started with a batch run, or nil if
// none is started. That collector answers queries while the run lasts. It serves no
// page.
func (t *Flags) Collect() []string {
	if t.Address != Own {
		return nil
	}
	return []string{"--data", t.Folder, "--http", Off}
}

// Off is the address that disables a listener.
const Off = "off"

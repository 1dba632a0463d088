package main

import (
	"fmt"
	"math"
	"net"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// defaultCollector is where a collector listens unless it is told otherwise.
const defaultCollector = "127.0.0.1:4317"

// defaultRatio is the share of messages that are followed by default.
const defaultRatio = 0.01

// telemetryFlags say what is told to a collector.
type telemetryFlags struct {
	address string // of the collector, "" for none
	ratio   float64
	flows   string
}

// add adds the flags to a command.
func (t *telemetryFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&t.address, "telemetry", "", "tell a collector, or any receiver of OTLP over gRPC, at HOST:PORT")
	flags.Lookup("telemetry").NoOptDefVal = defaultCollector
	t.addSampling(c)
}

// addSampling adds the flags that say which messages are followed.
func (t *telemetryFlags) addSampling(c *cobra.Command) {
	c.Flags().Float64Var(&t.ratio, "sample-ratio", defaultRatio, "share of messages whose way is told, 0 to 1, the same messages in equal runs")
	c.Flags().StringVar(&t.flows, "sample-flows", "", "flows and commands whose messages are all told, 'F*,get'")
}

// check names everything that is wrong with the flags.
func (t *telemetryFlags) check() error {
	var faults []string
	if t.address != "" {
		if _, _, err := net.SplitHostPort(t.address); err != nil || strings.Contains(t.address, "/") {
			faults = append(faults, fmt.Sprintf("--telemetry %q: want HOST:PORT", t.address))
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

// message is what the flags ask of a run's nodes, nil for nothing.
func (t *telemetryFlags) message() *rackfabv1.Telemetry {
	if t.address == "" {
		return nil
	}
	return &rackfabv1.Telemetry{SampleRatio: t.ratio, SampleFlows: t.flows}
}

// named gives what is told of one run: its name sets it apart from all others.
func named(t *rackfabv1.Telemetry, parts ...string) *rackfabv1.Telemetry {
	if t == nil {
		return nil
	}
	t = proto.CloneOf(t)
	t.Run = strings.Join(append(parts, time.Now().Format("20060102-150405.000")), "-")
	return t
}

// Package telemetry holds the flags that control the export of telemetry, and sums up
// what was exported. It knows no collector.
package telemetry

import (
	"fmt"
	"io"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Own is the address that denotes a collector started with the rack. Off is the address
// that disables a listener or an export.
const (
	Own = "own"
	Off = "off"
)

// defaultRatio is the default share of messages that are sampled.
const defaultRatio = "0.01"

// Flags are the settings of the export of telemetry.
type Flags struct {
	Address string // of the collector: "" disables the export, Own starts a collector
	Folder  string // data folder of the run's own collector
	Totals  *Totals

	SampleFlows string // patterns of the flows and commands whose messages are all sampled

	ratio float64
}

// Add adds the flags of a command that exports only on request.
func (t *Flags) Add(c *cobra.Command) {
	t.add(c, "telemetry", "", "export to the run's own collector, with the data in the run's folder, or with --telemetry=HOST:PORT to any OTLP receiver over gRPC")
	c.Flags().Lookup("telemetry").NoOptDefVal = Own
}

// AddForLive adds the flags of a command that starts a collector by default.
func (t *Flags) AddForLive(c *cobra.Command) {
	t.add(c, "collector", Own, "own: start a collector; HOST:PORT: export to that collector, or to any OTLP receiver over gRPC; off: disable the export")
}

// add adds the flag with the address, and those that select the sampled messages.
func (t *Flags) add(c *cobra.Command, name, address, usage string) {
	t.Totals = &Totals{}
	cli.Var(c, name, "string", address, usage, func(text string) error {
		if t.Address = text; text == Off || text == "" {
			t.Address = ""
			return nil
		}
		if _, _, err := net.SplitHostPort(text); text != Own && (err != nil || strings.Contains(text, "/")) {
			return fmt.Errorf("invalid value %q: must be HOST:PORT, %s or %s", text, Own, Off)
		}
		return nil
	})
	cli.ShareFlag(c, &t.ratio, "sample-ratio", defaultRatio, "share of messages to sample, the same messages in equal runs")
	cli.Var(c, "sample-flows", "patterns", "", "flows and commands whose messages are all sampled, 'F*,get' (default: the endless flows)", func(text string) error {
		t.SampleFlows = text
		for _, p := range strings.Split(text, ",") {
			if _, err := path.Match(p, ""); err != nil {
				return fmt.Errorf("invalid pattern %q: must be a name with * and ?", p)
			}
		}
		return nil
	})
}

// Check returns an error if the command line chooses sampled messages without an export.
func (t *Flags) Check(c *cobra.Command) error {
	if t.Address != "" {
		return nil
	}
	needs := "--telemetry"
	if c.Flags().Lookup("telemetry") == nil {
		needs = "a --collector other than off"
	}
	return cli.Unused(c, "needs "+needs, "sample-ratio", "sample-flows")
}

// CheckFlows returns an error if a pattern of --sample-flows matches nothing of a scenario. In a live run
// it may match a burst that is yet to come.
func (t *Flags) CheckFlows(s *topology.Scenario) error {
	none, err := tracing.Unmatched(s, t.SampleFlows)
	if err == nil && len(none) > 0 {
		err = fmt.Errorf("--sample-flows: no flow, burst or command matches %s", strings.Join(none, ", "))
	}
	return err
}

// Receiver returns the address of a collector that already runs, or "" if the flags name
// none.
func (t *Flags) Receiver() string {
	if t.Address == Own {
		return ""
	}
	return t.Address
}

// Collect returns the flags of the run's own collector, which serves its page at the given
// address, or nil if the run has none. The collector answers queries while the run lasts.
func (t *Flags) Collect(page string) []string {
	if t.Address != Own {
		return nil
	}
	return []string{"--data", t.Folder, "--http", page}
}

// ForRun returns the telemetry settings of one run, with a unique run name, or nil if the
// export is disabled.
func (t *Flags) ForRun(parts ...string) *rackfabv1.Telemetry {
	if t.Address == "" {
		return nil
	}
	t.Totals.mu.Lock()
	defer t.Totals.mu.Unlock()
	parts = append(parts, time.Now().Format("20060102-150405.000"))
	if n := len(t.Totals.runs); n > 0 {
		parts = append(parts, strconv.Itoa(n+1))
	}
	run := strings.Join(parts, "-")
	t.Totals.runs = append(t.Totals.runs, run)
	return &rackfabv1.Telemetry{Run: run, SampleRatio: t.ratio, SampleFlows: t.SampleFlows}
}

// Totals accumulates the counts of exported and dropped telemetry. It is safe for
// concurrent use.
type Totals struct {
	mu   sync.Mutex
	runs []string
	sum  rackfabv1.TelemetryCounts
}

// Add adds the counts of a run's spans and points at some nodes.
func (l *Totals) Add(c *rackfabv1.TelemetryCounts) {
	if c == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum.Made += c.GetMade()
	l.sum.Sent += c.GetSent()
	l.sum.Cut += c.GetCut()
	l.sum.PointsMade += c.GetPointsMade()
	l.sum.PointsSent += c.GetPointsSent()
	l.sum.Dropped = addCounts(l.sum.GetDropped(), c.GetDropped())
	l.sum.PointsDropped = addCounts(l.sum.GetPointsDropped(), c.GetPointsDropped())
}

func addCounts(sum, more map[string]int64) map[string]int64 {
	if sum == nil {
		sum = map[string]int64{}
	}
	for reason, n := range more {
		sum[reason] += n
	}
	return sum
}

// WriteSummary writes the summary of the export: one line, and one line per kind of
// loss.
func (t *Flags) WriteSummary(w io.Writer) error {
	receiver := t.Address
	switch receiver {
	case "":
		return nil
	case Own:
		receiver = t.Folder
	}
	t.Totals.mu.Lock()
	defer t.Totals.mu.Unlock()
	c := &t.Totals.sum
	cut := ""
	if c.GetCut() > 0 {
		cut = fmt.Sprintf("telemetry: %d spans were cut short: too many messages in flight\n", c.GetCut())
	}
	_, err := fmt.Fprintf(w, "telemetry: %d spans and %d points to %s, runs %s\n%s%s%s", c.GetSent(), c.GetPointsSent(), receiver,
		strings.Join(t.Totals.runs, " "), lossText("spans", c.GetMade(), c.GetDropped()), lossText("points", c.GetPointsMade(), c.GetPointsDropped()), cut)
	return err
}

// lossText returns a line on the dropped items, or "" if none were dropped.
func lossText(items string, made int64, dropped map[string]int64) string {
	sum := int64(0)
	for _, n := range dropped {
		sum += n
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("telemetry: %d of %d %s were dropped: %s\n", sum, made, items, Losses(dropped))
}

// Losses formats losses by reason, or "0" if there are none.
func Losses(dropped map[string]int64) string {
	var words []string
	for _, reason := range slices.Sorted(maps.Keys(dropped)) {
		words = append(words, fmt.Sprintf("%s %d", reason, dropped[reason]))
	}
	if len(words) == 0 {
		return "0"
	}
	return strings.Join(words, ", ")
}

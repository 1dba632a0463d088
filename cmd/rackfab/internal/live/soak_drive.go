package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/services/soak"
)

// measured is the rack of a soak, a launch.Rack.
type measured interface {
	Metrics() map[string]string // addresses by process
	Failed() context.Context
}

// soakResult has the measurements of a soak.
type soakResult struct {
	bursts    int
	took      time.Duration
	histories []*soak.History
}

// drive starts bursts and samples the processes until the time is over. With an error, it returns the
// measurements so far too.
func (f *soakFlags) drive(ctx context.Context, notes io.Writer, rack measured, work *bursts) (out soakResult, err error) {
	began, shown := time.Now(), time.Now()
	defer func() { out.took = time.Since(began) }()
	next, sample, end := time.NewTicker(f.every), time.NewTicker(f.sample), time.After(f.lasts)
	defer next.Stop()
	defer sample.Stop()
	for {
		select {
		case <-next.C:
			begun, err := work.next(ctx)
			if err != nil {
				return out, client.Reword(err)
			}
			out.bursts += begun
		case <-sample.C:
			if out.histories, err = extend(ctx, out.histories, rack.Metrics(), time.Since(began)); err != nil {
				return out, err
			}
			if time.Since(shown) > time.Minute {
				shown = time.Now()
				_, _ = fmt.Fprintf(notes, "%d bursts in %s\n", out.bursts, time.Since(began).Round(time.Second))
			}
		case <-end:
			return out, nil
		case <-rack.Failed().Done():
			return out, context.Cause(rack.Failed())
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
	}
}

// bursts starts one burst after the other.
type bursts struct {
	api    rackfabv1.FabricServiceClient
	change *rackfabv1.Change
	flows  int64 // of a burst
	begun  int64 // flows so far that end, those of the scenario included
}

// next starts a burst, unless more flows have not ended than one burst has: a rack that is slower than
// the bursts would grow by them. It returns the number of bursts started, 0 or 1.
func (b *bursts) next(ctx context.Context) (int, error) {
	now, err := b.api.GetStats(ctx, &rackfabv1.GetStatsRequest{})
	if err != nil {
		return 0, err
	}
	ended := int64(0)
	for _, n := range now.GetNodes() {
		ended += n.GetFlowsEnded()
	}
	if b.begun-ended > b.flows {
		return 0, nil
	}
	if _, err := b.api.Apply(ctx, &rackfabv1.ApplyRequest{Change: b.change}); err != nil {
		return 0, err
	}
	b.begun += b.flows
	return 1, nil
}

// extend adds a sample of each process. With an error, it returns those that it could add too.
func extend(ctx context.Context, list []*soak.History, addresses map[string]string, at time.Duration) ([]*soak.History, error) {
	for _, process := range slices.Sorted(maps.Keys(addresses)) {
		one, err := soak.Read(ctx, addresses[process], at)
		if err != nil {
			return list, fmt.Errorf("%s: %w", process, err)
		}
		i := slices.IndexFunc(list, func(h *soak.History) bool { return h.Process == process })
		if i < 0 {
			i, list = len(list), append(list, &soak.History{Process: process})
		}
		list[i].Samples = append(list[i].Samples, one)
	}
	return list, nil
}

// report prints the trends. It returns the error that has ended the soak, or one if a trend exceeds a
// limit, is not known, or is one without bursts.
func (f *soakFlags) report(w io.Writer, result soakResult, ended error) error {
	t := table.New(1, "process").Group("heap in use, MiB", "from-to", "in 10 min (95 %)").Group("resident, MiB", "from-to", "in 10 min").Group("goroutines", "first half", "second").Group("descriptors", "first half", "second")
	var faults []error
	rows, unknown := 0, 0
	for _, h := range result.histories {
		trend, err := h.Trend(f.limits.WarmUp)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, fault := range trend.Faults(&f.limits) {
			faults = append(faults, errors.New(fault))
		}
		rows++
		if !trend.Live.Known() {
			unknown++
		}
		t.Row(trend.Process, span(trend.First.Live, trend.Last.Live), interval(trend.Live),
			span(trend.First.Resident, trend.Last.Resident), fmt.Sprintf("%+.2f", trend.Resident/soak.MiB), trend.Goroutines.First(), trend.Goroutines.Second(), trend.Files.First(), trend.Files.Second())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d bursts in %s, of which the first %s do not count\n", result.bursts, result.took.Round(time.Second), f.limits.WarmUp)
	if rows > 0 {
		fmt.Fprint(&text, t)
	}
	if unknown > 0 {
		fmt.Fprintf(&text, "?: fewer than five garbage collections after the warm-up. The growth of %d of %d processes is not known; --for a longer time\n", unknown, rows)
	}
	if _, err := fmt.Fprint(w, text.String()); err != nil {
		return err
	}
	switch {
	case ended != nil:
		return ended
	case result.bursts == 0:
		return fmt.Errorf("no burst was started in %s: the flows of the scenario have not ended", result.took.Round(time.Second))
	}
	return errors.Join(faults...)
}

// interval returns a slope and the limits of its confidence interval, in MiB, "?" if they are not known.
func interval(s soak.Slope) string {
	if !s.Known() {
		return fmt.Sprintf("%+.2f (?)", s.Median/soak.MiB)
	}
	return fmt.Sprintf("%+.2f (%+.2f to %+.2f)", s.Median/soak.MiB, s.Low/soak.MiB, s.High/soak.MiB)
}

// span returns the first and last of a number of bytes, in MiB.
func span(first, last float64) string {
	return fmt.Sprintf("%.1f-%.1f", first/soak.MiB, last/soak.MiB)
}

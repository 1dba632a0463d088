package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"
)

// steps is the number of steps of a run. The journal is saved after each.
const steps = 4

// Outcome is a run under a schedule that has come to the lab's digest.
type Outcome struct {
	Seed       uint64
	Batch      bool
	Changes    int          // to the running rack
	Lossless   bool         // the rack has no losses, because no link is cut and no NIC is frozen
	Began      map[Kind]int // faults that have begun before the end of the run
	Recoveries int          // of the last controller
	Wall       time.Duration
}

// Faults returns the number of faults that have begun.
func (o *Outcome) Faults() (n int) {
	for _, of := range o.Began {
		n += of
	}
	return n
}

// run executes the scenario under a schedule and compares the result with that of the lab.
func (r *rack) run(ctx context.Context, s Schedule, want *reference) (*Outcome, error) {
	began := time.Now()
	earlier, _ := filepath.Glob(filepath.Join(r.dir, "*"))
	for _, name := range earlier {
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	r.runs++
	d := driver{rack: r, id: fmt.Sprintf("s%d", r.runs), want: want}
	r.bus.begin(s.Faults)
	play := d.live
	if s.Batch {
		play = d.batch
	}
	w := d.watch()
	if err := w.Run(ctx, play); err != nil {
		return nil, err
	}
	out := &Outcome{Seed: s.Seed, Batch: s.Batch, Changes: s.changes(r.scenario), Lossless: want.lossless}
	out.Began = r.bus.endFaults()
	if !s.Batch { // the last fault may have been a takeover
		if err := w.Run(ctx, func(ctx context.Context) error { return errors.Join(d.live(ctx), d.compare(ctx)) }); err != nil {
			return nil, err
		}
	}
	out.Recoveries, out.Wall = d.recoveries, time.Since(began)
	return out, nil
}

// driver is the client of one run.
type driver struct {
	*rack
	id         string
	want       *reference
	at         unit.Time // that the run has reached, at the latest answer of the controller
	recoveries int
}

// watch returns the watch over the run. A node makes progress when it promises its neighbours a later
// instant.
func (d *driver) watch() *Watch {
	return &Watch{
		Patience: d.patience, Progress: func(context.Context) int { return d.bus.progress() },
		API: func() rackfabv1.FabricServiceClient {
			if client := d.api(); client != nil {
				return client.API()
			}
			return nil
		},
		Reached: func() unit.Time { return d.at }, End: d.scenario.Duration,
	}
}

// batch makes the rack run the scenario at once.
func (d *driver) batch(ctx context.Context) error {
	text, err := scenariofile.Marshal(d.want.scenario)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := d.settled(ctx); err != nil {
			return err
		}
		report, err := d.api().Run(ctx, &controller.Request{RunId: d.id, Scenario: text, Quiet: true}, nil)
		switch {
		case err == nil:
			d.recoveries = report.Recoveries
			return d.want.compare(report.Digest, report.Results())
		case Tolerate(err) != nil:
			return err
		}
	}
	return context.Cause(ctx)
}

// live takes a live rack to the end of the scenario, whatever happens to the controller.
func (d *driver) live(ctx context.Context) error {
	for ctx.Err() == nil {
		if done, err := d.advance(ctx); done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// advance makes one step, and reports whether the rack is at the end of the scenario.
func (d *driver) advance(ctx context.Context) (done bool, err error) {
	if err := d.settled(ctx); err != nil {
		return false, err
	}
	now, err := Status(ctx, d.api().API(), &rackfabv1.StartRackRequest{RunId: d.id, Scenario: d.text})
	if now == nil {
		return false, err
	}
	end := d.scenario.Duration
	d.at, d.recoveries = unit.Time(now.GetAtPs()), int(now.GetRecoveries())
	switch {
	case d.at >= end && now.GetState() != rackfabv1.RackState_RACK_STATE_RECOVERING:
		return true, nil
	case d.at < end:
		err = d.step(ctx)
	}
	if err == nil {
		_, err = d.api().API().Pause(ctx, &rackfabv1.PauseRequest{}) // saves the journal
	}
	if err == nil {
		err = d.inspect(ctx)
	}
	return false, Tolerate(err)
}

// step applies the changes within the present step, and takes the rack to its end.
func (d *driver) step(ctx context.Context) error {
	until := stepEnd(d.scenario.Duration, int(d.at*steps/d.scenario.Duration))
	if err := d.steer(ctx, until); err != nil {
		return err
	}
	_, err := d.api().API().Step(ctx, &rackfabv1.StepRequest{SpanPs: int64(until - d.at)})
	return err
}

// steer applies the changes before until that the journal does not have. A change at an
// earlier instant, which was applied, must be in it.
func (d *driver) steer(ctx context.Context, until unit.Time) error {
	changes := d.want.scenario.Changes
	if len(changes) == len(d.scenario.Changes) {
		return nil
	}
	applied := len(d.scenario.Changes)
	journal, err := d.api().API().GetJournal(ctx, &rackfabv1.GetJournalRequest{})
	switch {
	case err == nil:
		s, err := scenariofile.Parse("journal", journal.GetJournal().GetScenario())
		if err != nil {
			return err
		}
		applied = len(s.Changes)
	case status.Code(err) != codes.FailedPrecondition: // it is empty
		return err
	}
	for _, c := range changes[applied:] {
		if c.At < d.at {
			return fmt.Errorf("at %s the journal has lost a change at %s", d.at, c.At)
		}
		if c.At >= until {
			break
		}
		if _, err := d.api().Change(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// inspect checks the figures of all nodes at the instant that the rack has reached.
func (d *driver) inspect(ctx context.Context) error {
	stats, err := d.api().API().GetStats(ctx, &rackfabv1.GetStatsRequest{})
	if err != nil || stats.GetAtPs() == 0 { // there are none before the first step
		return err
	}
	return d.want.check(unit.Time(stats.GetAtPs()), reported(stats.GetNodes()))
}

// compare stops the run at its end and compares it with the lab's.
func (d *driver) compare(ctx context.Context) error {
	stats, err := d.api().API().GetStats(ctx, &rackfabv1.GetStatsRequest{})
	if err != nil {
		return err
	}
	if err := d.want.check(unit.Time(stats.GetAtPs()), reported(stats.GetNodes())); err != nil {
		return err
	}
	return Stop(ctx, d.api().API(), d.scenario.Duration, d.want.digest)
}

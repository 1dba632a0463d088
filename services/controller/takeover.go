package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// takeOver continues the live run of the journal, which another controller has left: the
// nodes execute it again up to its end, where the rack must have its digest. It does
// nothing if there is no journal of a run that was left.
func (s *service) takeOver() error {
	text, err := os.ReadFile(s.options.Journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, left, err := readState(text)
	if err != nil {
		return fmt.Errorf("%s: line 2: %w", s.options.Journal, err)
	}
	if !left {
		return nil
	}
	r, err := s.left(text, now)
	if err != nil {
		return fmt.Errorf("%s: %w", s.options.Journal, err)
	}
	s.turn <- struct{}{}
	s.present.Store(r)
	go s.drive(s.ctx, r, nil)
	return nil
}

// left returns the run of a journal, at the instant at which another controller has left
// it.
func (s *service) left(journal []byte, left state) (*run, error) {
	batch, err := scenariofile.Parse(s.options.Journal, journal)
	if err != nil {
		return nil, err
	}
	scenario, err := scenariofile.ForLiveRun(batch)
	if err != nil {
		return nil, err
	}
	text, err := scenariofile.Marshal(scenario)
	if err != nil {
		return nil, err
	}
	config := &rackfabv1.RunConfig{RunId: left.RunID, Scenario: text, Quiet: true, Live: true}
	if left.Telemetry != nil {
		config.Telemetry = &rackfabv1.Telemetry{}
		if err := protojson.Unmarshal(left.Telemetry, config.Telemetry); err != nil {
			return nil, fmt.Errorf("line 2: telemetry: %w", err)
		}
	}
	r := s.prepare(scenario, config)
	r.journal.bin, r.journal.saved = batch.Bin, unit.Time(left.AtPs)
	r.clock.reached, r.clock.granted = unit.Time(left.AtPs), unit.Time(left.AtPs)
	r.clock.setPace(time.Now(), unit.Time(left.Pace))
	r.clock.running, r.clock.why = left.Running, "paused when its controller was lost"
	digest, _ := ReadDigest(journal)
	r.latest = &rackfabv1.WatchResponse{Status: &rackfabv1.RackStatus{Digest: digest}}
	r.recovery.count = left.Recoveries
	r.recovery.begin("controller", "the controller was started again", r.clock.reached)
	s.recoveries.Add(1)
	r.recovery.again = true
	close(r.ready)
	return r, nil
}

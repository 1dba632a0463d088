package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/scenariofile"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// journal is the journal of a live run: its file, and the scenario's settings that the
// run itself does not use.
type journal struct {
	bin   unit.Time // of the original scenario
	own   int       // changes of the original scenario
	saved unit.Time // fabric time up to which the file is written
	ticks int       // of the run
	text  scenariofile.Journal
}

// unused reports whether the run is as it started: no step, and no change since.
func (r *run) unused() bool { return r.clock.reached == 0 && len(r.scenario.Changes) == r.journal.own }

// saveTicks is the number of ticks between two regular writes of the file.
const saveTicks = 10

// journalText returns the run so far as a scenario.
func (r *run) journalText() (*rackfabv1.Journal, error) {
	if r.unused() {
		return nil, status.Error(codes.FailedPrecondition, "the journal is empty before the first change or step")
	}
	return r.journalNow()
}

// journalNow is journalText also for a run that is as it started.
func (r *run) journalNow() (*rackfabv1.Journal, error) {
	reached := r.clock.reached
	text, err := r.journal.text.Text(r.scenario, reached, r.journal.bin)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &rackfabv1.Journal{Scenario: text, AtPs: int64(reached), Digest: r.latest.GetStatus().GetDigest()}, nil
}

// save writes the journal to its file, if one is configured. A run that is stopped as it started leaves no file.
func (r *run) save() error {
	path := r.service.options.Journal
	switch {
	case path == "":
		return nil
	case r.stopping && r.unused():
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	j, err := r.journalNow()
	if err != nil {
		return err
	}
	now, err := r.stateText()
	if err != nil {
		return err
	}
	r.journal.saved = r.clock.reached
	return disk.Replace(path, disk.Public, func(w io.Writer) error { return printJournal(w, j, now) })
}

// saveRegularly saves the journal every saveTicks ticks. The next change reports a
// failure.
func (r *run) saveRegularly() {
	if r.journal.ticks++; r.journal.ticks%saveTicks == 0 && r.clock.reached > r.journal.saved {
		_ = r.save()
	}
}

// ClaimJournal claims the file of a live run's journal. Its error says that another live rack writes the file.
func ClaimJournal(path string) (*disk.Claim, error) {
	claim, err := disk.Take(path)
	if errors.Is(err, disk.ErrClaimed) {
		return nil, fmt.Errorf("--journal %s: another live rack writes this file: choose another one, or end that rack first (%w)", path, disk.ErrClaimed)
	}
	return claim, err
}

// KeepEarlier renames the journal of an earlier run at the path of a new one: a.yaml becomes
// a-1.yaml, or a-2.yaml if that exists, and so on. It returns the new path, "" if nothing was
// renamed, and refuses to rename a file that is no journal. Empty files, and non-regular ones such as
// /dev/null, are left alone.
func KeepEarlier(path string) (kept string, err error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return "", nil // nothing that could be overwritten
	}
	if err := isJournal(path); err != nil {
		return "", err
	}
	suffix := filepath.Ext(path)
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, suffix), n, suffix)
		taken, err := os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		switch {
		case err == nil:
			return kept, errors.Join(taken.Close(), os.Rename(path, kept))
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
	}
}

// isJournal returns an error unless a file begins as journals do.
func isJournal(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // the file was only read
	first := make([]byte, len(heading))
	if _, err := io.ReadFull(file, first); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if string(first) != heading {
		return fmt.Errorf("%s: %w and is not a journal: choose another name", path, fs.ErrExist)
	}
	return nil
}

// PrintJournal writes a journal to w. Its first line contains the digest (ReadDigest),
// or says that the run has not begun.
func PrintJournal(w io.Writer, j *rackfabv1.Journal) error { return printJournal(w, j, "") }

// printJournal is PrintJournal with the state of the run, "" for none.
func printJournal(w io.Writer, j *rackfabv1.Journal, now string) error {
	first := fmt.Sprintf(digestLine, j.GetDigest())
	if j.GetAtPs() == 0 {
		first = unstepped
	}
	_, err := fmt.Fprintf(w, "%s\n%s%s", first, now, j.GetScenario())
	return err
}

// The first line of a journal, which begins with heading.
const (
	heading    = "# A journal of a live run"
	digestLine = heading + ", digest %016x"
	unstepped  = heading + " before its first step: `rackfab up` starts it again with its changes"
)

// Unstepped reports whether a journal is that of a live run before its first step.
func Unstepped(journal []byte) bool { return bytes.HasPrefix(journal, []byte(unstepped)) }

// ReadDigest returns the digest in the first line of a journal. ok is false if
// there is none.
func ReadDigest(journal []byte) (digest uint64, ok bool) {
	_, err := fmt.Sscanf(string(journal[:min(len(journal), 200)]), digestLine, &digest)
	return digest, err == nil
}

// state is the ID, the clock and the telemetry of a live run. With it and the journal, the next
// controller takes over the run. It is the second line of the journal's file until the run is
// stopped.
type state struct {
	RunID   string `json:"run_id"`
	AtPs    int64  `json:"at_ps"`
	Running bool   `json:"running"`
	Pace    int64  `json:"pace_ps_per_second"`
	// Recoveries is the number of recoveries so far.
	Recoveries int             `json:"recoveries,omitempty"`
	Telemetry  json.RawMessage `json:"telemetry,omitempty"`
}

const stateLine = "# state "

// stateText returns the line with the state of the run, "" once it has been stopped.
func (r *run) stateText() (string, error) {
	if r.stopping {
		return "", nil
	}
	now := state{RunID: r.id, AtPs: int64(r.clock.reached), Running: r.clock.running, Pace: int64(r.clock.pace), Recoveries: r.recovery.count}
	var err error
	if t := r.config.GetTelemetry(); t != nil {
		if now.Telemetry, err = protojson.Marshal(t); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(now)
	return fmt.Sprintf("%s%s\n", stateLine, text), err
}

// readState returns the state in a journal. ok is false if it has none, because its run was
// stopped, or because a client has saved it.
func readState(journal []byte) (now state, ok bool, err error) {
	_, rest, _ := bytes.Cut(journal, []byte("\n"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	text, ok := bytes.CutPrefix(line, []byte(stateLine))
	if !ok {
		return now, false, nil
	}
	return now, true, json.Unmarshal(text, &now)
}

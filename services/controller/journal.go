package controller

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// journal is the journal of a live run: its file, and the scenario's settings that the
// run itself does not use.
type journal struct {
	bin   unit.Time // of the original scenario
	saved unit.Time // fabric time up to which the file is written
	ticks int       // of the run
}

// saveTicks is the number of ticks between two regular writes of the file.
const saveTicks = 10

// journalText returns the run so far as a scenario.
func (r *run) journalText() (*rackfabv1.Journal, error) {
	reached := r.clock.reached
	if reached == 0 {
		return nil, status.Error(codes.FailedPrecondition, "the journal is empty before the first step")
	}
	text, err := scenariofile.Journal(r.scenario, reached, r.journal.bin)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &rackfabv1.Journal{Scenario: text, AtPs: int64(reached), Digest: r.latest.GetStatus().GetDigest()}, nil
}

// save writes the journal to its file, if one is configured. It replaces the file
// atomically.
func (r *run) save() error {
	path := r.service.options.Journal
	if path == "" || r.clock.reached == 0 {
		return nil
	}
	j, err := r.journalText()
	if err != nil {
		return err
	}
	r.journal.saved = r.clock.reached
	return WriteJournal(path, j)
}

// saveRegularly saves the journal every saveTicks ticks. The next change reports a
// failure.
func (r *run) saveRegularly() {
	if r.journal.ticks++; r.journal.ticks%saveTicks == 0 && r.clock.reached > r.journal.saved {
		_ = r.save()
	}
}

// keepEarlier renames an existing file at the path of a journal: a.yaml becomes
// a-1.yaml, or a-2.yaml if that exists, and so on. Non-regular files such as
// /dev/null are left alone.
func keepEarlier(path string) error {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil // no file that could be overwritten
	}
	suffix := filepath.Ext(path)
	for n := 1; ; n++ {
		free := fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, suffix), n, suffix)
		taken, err := os.OpenFile(free, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		switch {
		case err == nil:
			return errors.Join(taken.Close(), os.Rename(path, free))
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
}

// PrintJournal writes a journal to w. Its first line contains the digest
// (ReadDigest).
func PrintJournal(w io.Writer, j *rackfabv1.Journal) error {
	_, err := fmt.Fprintf(w, digestLine+"\n%s", j.GetDigest(), j.GetScenario())
	return err
}

// WriteJournal writes a journal to a file atomically.
func WriteJournal(path string, j *rackfabv1.Journal) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	err = PrintJournal(file, j)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the incomplete file is of no use
	}
	return err
}

// digestLine is the first line of a journal.
const digestLine = "# A journal of a live run, digest %016x"

// ReadDigest returns the digest in the first line of a journal. ok is false if
// there is none.
func ReadDigest(journal []byte) (digest uint64, ok bool) {
	_, err := fmt.Sscanf(string(journal[:min(len(journal), 200)]), digestLine, &digest)
	return digest, err == nil
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// GetJournal returns the journal of the live run, a scenario that replays it.
func (s *service) GetJournal(context.Context, *rackfabv1.GetJournalRequest) (*rackfabv1.GetJournalResponse, error) {
	var out *rackfabv1.Journal
	err := s.call(func(l *session) (err error) {
		out, err = l.journal()
		return err
	})
	return &rackfabv1.GetJournalResponse{Journal: out}, err
}

// StopRack ends the live run at the fabric time it has reached.
func (s *service) StopRack(ctx context.Context, _ *rackfabv1.StopRackRequest) (*rackfabv1.StopRackResponse, error) {
	if _, err := s.Pause(ctx, nil); err != nil {
		return nil, err
	}
	out := &rackfabv1.StopRackResponse{}
	var live *session
	err := s.call(func(l *session) (err error) {
		live = l
		if l.reached > 0 {
			out.Journal, err = l.journal()
		}
		if err == nil {
			err = l.save()
		}
		l.stop = true
		return err
	})
	if err != nil {
		return nil, err
	}
	<-live.left
	return out, nil
}

// journal returns the run so far as a scenario.
func (s *session) journal() (*rackfabv1.Journal, error) {
	if s.reached == 0 {
		return nil, status.Error(codes.FailedPrecondition, "nothing has run yet: there is no journal before the first step")
	}
	text, err := s.scenario.Journal(s.reached, s.bin)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &rackfabv1.Journal{
		Scenario: text, AtPs: int64(s.reached), Digest: s.standing.GetStatus().GetDigest(),
	}, nil
}

// save writes the journal to its file, if one is configured. It replaces the file
// atomically.
func (s *session) save() error {
	path := s.options.Journal
	if path == "" || s.reached == 0 {
		return nil
	}
	j, err := s.journal()
	if err != nil {
		return err
	}
	s.saved = s.reached
	return WriteJournal(path, j)
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

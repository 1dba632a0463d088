package startup

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errAbsent = errors.New("nobody listens")

func absent(err error) bool { return errors.Is(err, errAbsent) }

// logged returns a buffer that receives the log until the end of the test.
func logged(t *testing.T) *bytes.Buffer {
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &text
}

// A late service is found at the next attempt, and the wait is logged once, with the error of the
// first attempt. The attempts get rarer.
func TestAwaitFindsWhatComesLate(t *testing.T) {
	log := logged(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		got, err := Await(t.Context(), Limit, "the bus at nats://x", absent, func() (int, error) {
			if at = append(at, time.Since(began)); at[len(at)-1] < 5*time.Second {
				return 0, errAbsent
			}
			return 7, nil
		})
		if got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		ms := time.Millisecond
		if want := []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 5100 * ms}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
	if n := strings.Count(log.String(), "waits for the bus at nats://x"); n != 1 || !strings.Contains(log.String(), "nobody listens") || !strings.Contains(log.String(), "30s") {
		t.Errorf("logged %d times:\n%s", n, log)
	}
}

// An attempt that takes longer than the limit is logged too.
func TestAwaitLogsASlowAttempt(t *testing.T) {
	log := logged(t)
	synctest.Test(t, func(t *testing.T) {
		_, err := Await(t.Context(), time.Second, "the bus", absent, func() (int, error) { return 0, errors.Join(Sleep(t.Context(), time.Minute), errAbsent) })
		if !errors.Is(err, errAbsent) {
			t.Error(err)
		}
	})
	if n := strings.Count(log.String(), "waits for the bus"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
}

// After the limit, the error has the name of what is missing and the last reason. A limit of 0
// permits one attempt and logs nothing.
func TestAwaitEndsAtTheLimit(t *testing.T) {
	log := logged(t)
	for limit, want := range map[time.Duration]string{
		0:               "nobody listens",
		3 * time.Second: "waited 3s for the key file k: nobody listens",
	} {
		log.Reset()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := Await(t.Context(), limit, "the key file k", absent, func() (int, error) { return 0, errAbsent })
			if err == nil || err.Error() != want || time.Since(began) != limit {
				t.Errorf("after %v, limit %v: %v", time.Since(began), limit, err)
			}
		})
		if (log.Len() > 0) != (limit > 0) {
			t.Errorf("limit %v: logged %q", limit, log)
		}
	}
}

// An error that no wait can mend ends the wait at once; the end of the process does too.
func TestAwaitEndsAtOnce(t *testing.T) {
	logged(t)
	refused, stopped := errors.New("refused"), errors.New("stopped")
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		began := time.Now()
		if _, err := Await(ctx, Limit, "the bus", absent, func() (int, error) { return 0, refused }); err != refused { //nolint:errorlint // unwrapped
			t.Error(err)
		}
		_, err := Await(ctx, Limit, "the bus", absent, func() (int, error) { end(stopped); return 0, errAbsent })
		if !errors.Is(err, stopped) || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

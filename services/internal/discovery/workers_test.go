package discovery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/bus"
)

// joinAfter announces a worker after a time.
func joinAfter(t *testing.T, conn bus.Conn, name string, after time.Duration) {
	t.Helper()
	time.AfterFunc(after, func() {
		withdraw, err := Announce(conn, Pool, Hello{Name: name, Kind: Worker, Address: "192.0.2.1:7000", Cores: 4}, func(error) {})
		if err != nil {
			t.Error(err)
		}
		t.Cleanup(withdraw)
	})
}

// AwaitWorkers waits for the number of workers, says how many have joined, and names them
// if they are too few.
func TestAwaitWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := bus.NewMemory().Dial()
		joinAfter(t, conn, "w1", time.Second)
		joinAfter(t, conn, "w0", 2*time.Second)
		var joined []int
		found, err := AwaitWorkers(t.Context(), conn, 2, func(have, want int) { joined = append(joined, have, want) })
		if err != nil || len(found) != 2 || found[0].Name != "w0" || found[1].Cores != 4 {
			t.Fatalf("%v, %v", found, err)
		}
		if diff := cmp.Diff([]int{1, 2, 2, 2}, joined); diff != "" {
			t.Error(diff)
		}
		cause := errors.New("not within a minute")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
		defer cancel()
		_, err = AwaitWorkers(ctx, conn, 3, nil)
		want := "2 of 3 workers have joined (w0 at 192.0.2.1:7000, w1 at 192.0.2.1:7000): not within a minute"
		if err == nil || err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

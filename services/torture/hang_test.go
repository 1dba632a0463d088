package torture

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A run that takes much longer than the patience is no hang as long as it comes further; one
// that stands still is, whatever its processes send.
func TestOnlyStandstillIsAHang(t *testing.T) {
	for _, still := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := driver{rack: &rack{scenario: Scenario(), bus: newFaultyBus(nil, nil), patience: time.Minute}}
			err := d.watch().Run(t.Context(), func(ctx context.Context) error {
				for i := range 10 {
					at := unit.Microsecond
					if !still {
						at *= unit.Time(i + 1)
					}
					d.bus.decide(&conn{}, "run", way{"a", "b"}, promising(at))
					select {
					case <-time.After(d.patience / 2):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return nil
			})
			var hang *HangError
			if errors.As(err, &hang) != still {
				t.Errorf("stands still %v: %v", still, err)
			}
		})
	}
}

// promising returns an envelope without frames.
func promising(at unit.Time) []byte {
	b := make([]byte, headBytes)
	b[0], b[1] = 0xfa, bus.Version
	binary.BigEndian.PutUint64(b[seqAt:], 1)
	binary.BigEndian.PutUint64(b[promiseAt:], uint64(at))
	return b
}

package cells

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// fake is a worker whose cells take a time, or that refuses them.
type fake struct {
	mu            sync.Mutex
	running, most int // cells
	done          int
	refuse        func() error
}

func (f *fake) call(ctx context.Context, _ *Cell) (*measure.Run, error) {
	if f.refuse != nil {
		if err := f.refuse(); err != nil {
			return nil, err
		}
	}
	f.add(1)
	defer f.add(-1)
	select {
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-time.After(time.Second):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done++
	return &measure.Run{}, nil
}

func (f *fake) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running += n
	f.most = max(f.most, f.running)
}

// poolOf returns a pool of workers with two cores each.
func poolOf(workers ...*fake) *Pool {
	var members []*member
	for i, f := range workers {
		members = append(members, &member{name: fmt.Sprintf("w%d", i), address: "x:1", lanes: 2, call: f.call})
	}
	return &Pool{lanes: newLanes(members)}
}

// runAll runs cells on all lanes at once, and returns the errors.
func runAll(ctx context.Context, p *Pool, cells int) (errs []error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range cells {
		all.Go(func() {
			if _, err := p.Run(ctx, &Cell{}); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return errs
}

func TestWorkersShareTheCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &fake{}, &fake{}
		p, start := poolOf(a, b), time.Now()
		if errs := runAll(t.Context(), p, 12); errs != nil {
			t.Fatal(errs)
		}
		if a.done != 6 || b.done != 6 || a.most != 2 || b.most != 2 || time.Since(start) != 3*time.Second {
			t.Errorf("a %+v, b %+v in %v; want 6 cells each, two at once, in 3s", a, b, time.Since(start))
		}
	})
}

// A single cell per worker is spread over the workers.
func TestCellGoesToTheWorkerWithTheMostFreeLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &fake{}, &fake{}
		if errs := runAll(t.Context(), poolOf(a, b), 2); errs != nil || a.done != 1 || b.done != 1 {
			t.Errorf("%v, a %d, b %d", errs, a.done, b.done)
		}
	})
}

// The cells of a worker that is lost or refuses run on another one, and the loss is
// reported once.
func TestCellsOfALostWorkerRunElsewhere(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.FailedPrecondition, codes.Canceled, codes.Unimplemented} {
		synctest.Test(t, func(t *testing.T) {
			a, b := &fake{}, &fake{}
			calls := 0
			b.refuse = func() error {
				b.mu.Lock()
				defer b.mu.Unlock()
				if calls++; calls > 3 {
					return status.Error(code, "gone")
				}
				return nil
			}
			p := poolOf(a, b)
			var lost []error
			p.lost = func(err error) { lost = append(lost, err) }
			if errs := runAll(t.Context(), p, 12); errs != nil {
				t.Fatal(errs)
			}
			if a.done+b.done != 12 || b.done != 3 || p.Workers() != 1 {
				t.Errorf("%v: a %d, b %d, %d workers", code, a.done, b.done, p.Workers())
			}
			if len(lost) != 1 || lost[0].Error() != "worker w1 at x:1: gone" {
				t.Errorf("%v: lost %v", code, lost)
			}
		})
	}
}

func TestNoWorkerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := func() error { return status.Error(codes.Unavailable, "error reading from server: EOF") }
		p := poolOf(&fake{refuse: gone}, &fake{refuse: gone})
		errs := runAll(t.Context(), p, 9)
		var none *NoWorkersError
		if len(errs) != 9 || !errors.As(errs[8], &none) || len(none.Losses) != 2 {
			t.Fatal(errs)
		}
		const w0, w1 = "worker w0 at x:1: connection lost: EOF", "worker w1 at x:1: connection lost: EOF"
		if got := none.Error(); got != "no worker is left: "+w0+"\n"+w1 && got != "no worker is left: "+w1+"\n"+w0 {
			t.Errorf("got %q, want both, in the order in which they were lost", got)
		}
	})
}

// A cell that takes its workers down is given up before all are lost.
func TestCellThatTakesWorkersDownIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := func() error { return status.Error(codes.Unavailable, "killed") }
		var workers []*fake
		for range 5 {
			workers = append(workers, &fake{refuse: gone})
		}
		p := poolOf(workers...)
		_, err := p.Run(t.Context(), &Cell{})
		if err == nil || !strings.HasPrefix(err.Error(), "given up after the loss of 3 workers: worker w0 at x:1: killed") || p.Workers() != 2 {
			t.Errorf("%v, %d workers left", err, p.Workers())
		}
	})
}

// A worker that other clients use is not lost: its lane rests, and the cell goes to
// another one.
func TestBusyWorkerIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, refused := time.Now(), 0
		f := &fake{}
		f.refuse = func() error {
			if time.Since(start) < 5*time.Second {
				refused++
				return serve.Busy(time.Second, "other cells")
			}
			return nil
		}
		p := poolOf(f)
		if _, err := p.Run(t.Context(), &Cell{}); err != nil || f.done != 1 || p.Workers() != 1 {
			t.Errorf("%v, %d done, %d workers", err, f.done, p.Workers())
		}
		if refused < 5 || refused > 10 {
			t.Errorf("refused %d times in 5 s by two lanes", refused)
		}
	})
}

// An error that another worker would repeat ends the cell, and not its worker.
func TestErrorOfACellIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{refuse: func() error { return status.Error(codes.InvalidArgument, "scenario: x") }}
		p := poolOf(f)
		if _, err := p.Run(t.Context(), &Cell{}); status.Code(err) != codes.InvalidArgument || p.Workers() != 1 {
			t.Errorf("%v, %d workers", err, p.Workers())
		}
	})
}

// A request that is refused as too large is not tried again.
func TestTooLargeIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		f := &fake{refuse: func() error {
			calls++
			if calls > 1 {
				return nil // so that the test ends
			}
			return status.Error(codes.ResourceExhausted, "grpc: received message larger than max")
		}}
		p := poolOf(f)
		if _, err := p.Run(t.Context(), &Cell{}); status.Code(err) != codes.ResourceExhausted || calls != 1 || p.Workers() != 1 {
			t.Errorf("%v, %d calls, %d workers", err, calls, p.Workers())
		}
	})
}

// Cancellation ends running and waiting cells, and is the fault of no worker.
func TestCancellationEndsTheCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		p := poolOf(f)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		errs := runAll(ctx, p, 5)
		if len(errs) != 5 || p.Workers() != 1 || f.done != 0 || f.running != 0 {
			t.Fatalf("%v, %d workers, %+v", errs, p.Workers(), f)
		}
		for _, err := range errs {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

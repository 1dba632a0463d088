package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/startup"
)

// Workers are the free workers of a bus that run the nodes of a rack, instead of processes
// of this machine.
type Workers struct {
	Scenario *topology.Scenario // whose nodes they run
	Count    int                // 1 to the number of nodes
	Limit    time.Duration      // for that many to join; 0 for discovery.JoinLimit
	// Joined is called at the start and whenever a worker has joined, with their number. It
	// may be nil.
	Joined func(count int)
}

// Intervals of borrowing.
const (
	lendLimit  = 3 * time.Second // for a worker to answer
	retryEvery = time.Second     // between two attempts to borrow the same worker
)

// borrowed is a worker that is lent to the rack until the end of its stream.
type borrowed struct {
	name, address string
	cores         int
	nodes         int // that it runs
	stream        rackfabv1.WorkerService_HostClient
	conn          *grpc.ClientConn
	end           context.CancelFunc // ends the stream
}

// attempt is an attempt to borrow a worker that failed.
type attempt struct {
	at  time.Time
	why string
}

// borrow borrows as many workers as o wants, in the order of their names as they join within
// limit. The workers are the rack's until leased ends.
func (r *Rack) borrow(ctx context.Context, limit time.Duration) error {
	o := r.o.Workers
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	access := r.o.Access
	access.TLS = r.who.Client("")
	conn, err := startup.Dial(ctx, min(limit, startup.Limit), r.url, "launcher", access)
	if err != nil {
		return err
	}
	defer conn.Close()
	pool, err := discovery.Watch(conn, discovery.Pool)
	if err != nil {
		return err
	}
	defer pool.Close()
	show := func() {
		if o.Joined != nil {
			o.Joined(len(r.workers))
		}
	}
	show()
	failed := map[string]attempt{}
	for over := range pool.Rounds(ctx) {
		for _, h := range pool.Nodes() {
			if len(r.workers) == o.Count || over || !r.mayBorrow(h, failed) {
				continue
			}
			w, err := borrow(r.leased, h, r.who)
			if err != nil {
				failed[h.Name] = attempt{time.Now(), status.Convert(err).Message()}
				continue
			}
			delete(failed, h.Name)
			r.workers = append(r.workers, w)
			show()
		}
		if len(r.workers) == o.Count {
			break
		}
	}
	if len(r.workers) < o.Count {
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return r.tooFew(failed, limit)
	}
	slices.SortFunc(r.workers, func(a, b *borrowed) int { return strings.Compare(a.name, b.name) })
	return nil
}

// mayBorrow reports whether an announced worker is to be borrowed now.
func (r *Rack) mayBorrow(h discovery.Hello, failed map[string]attempt) bool {
	return h.Kind == discovery.Worker && time.Since(failed[h.Name].at) >= retryEvery &&
		!slices.ContainsFunc(r.workers, func(w *borrowed) bool { return w.name == h.Name })
}

// borrow borrows a worker until leased ends.
func borrow(leased context.Context, h discovery.Hello, who *identity.TLS) (*borrowed, error) {
	ctx, cancel := context.WithCancel(leased)
	limit := time.AfterFunc(lendLimit, cancel)
	conn, err := serve.DialAs(h.Address, who, cmp.Or(h.Member, h.Process))
	if err != nil {
		cancel()
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	stream, err := rackfabv1.NewWorkerServiceClient(conn).Host(ctx)
	if err == nil {
		var m *rackfabv1.HostResponse
		if m, err = stream.Recv(); err == nil && limit.Stop() {
			return &borrowed{name: h.Name, address: h.Address, cores: max(1, int(m.GetLent().GetCores())), stream: stream, conn: conn, end: cancel}, nil
		}
	}
	cancel()
	switch why := status.Convert(err).Message(); {
	case err == nil || !limit.Stop():
		return nil, fmt.Errorf("does not answer at %s within %v", h.Address, lendLimit)
	case health.Reason(why) != why:
		return nil, fmt.Errorf("announces %s, which this machine cannot reach (%s): use --advertise", h.Address, health.Reason(why))
	}
	return nil, err
}

// tooFew returns the error for too few workers, which names those that have joined, and
// says why others could not be used.
func (r *Rack) tooFew(failed map[string]attempt, limit time.Duration) error {
	var b strings.Builder
	o := r.o.Workers
	fmt.Fprintf(&b, "%d of %d workers have joined within %v", len(r.workers), o.Count, limit)
	for i, w := range r.workers {
		fmt.Fprintf(&b, "%s %s at %s", map[bool]string{true: ":", false: ","}[i == 0], w.name, w.address)
	}
	var others []string
	for name, f := range failed {
		others = append(others, fmt.Sprintf("; worker %s cannot be used: %s", name, f.why))
	}
	slices.Sort(others)
	b.WriteString(strings.Join(others, ""))
	return fmt.Errorf("%s: `rackfab worker --bus %s` starts one on each machine", &b, r.url)
}

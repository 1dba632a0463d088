package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// breaker breaks a bus permanently, after some envelopes.
type breaker struct {
	left     int
	from, to string // the link that it breaks, "" for all
	broke    func() // called once, after the last envelope; may be nil

	mu sync.Mutex
}

// breaks counts an envelope, and reports whether it is lost.
func (b *breaker) breaks(subject string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := strings.Split(subject, ".")
	link := len(t) == 5 && bus.LinkSubject(t[1], t[3], t[4]) == subject
	if link && b.left > 0 {
		if b.left--; b.left == 0 && b.broke != nil {
			b.broke()
		}
		return false
	}
	return b.left == 0 && b.broke == nil && (b.from == "" || link && t[3] == b.from && t[4] == b.to)
}

// breaking is a connection to a bus that breaks.
type breaking struct {
	bus.Conn
	*breaker
}

func (c breaking) Publish(subject string, data []byte) error {
	if c.breaks(subject) {
		return errors.New("permission denied")
	}
	return c.Conn.Publish(subject, data)
}

func (c breaking) Lost() bool { return c.from == "" && c.breaks("") }

// unrecoverable is a run that cannot come to its end.
type unrecoverable struct {
	o    Options
	with breaker
	mute string   // a node that is silent once the run has begun, "" for none
	ends string   // a node whose process ends, "" for none
	want []string // in the error
}

// drawn draws an unrecoverable run of the pair.
func drawn(seed uint64) (u *unrecoverable) {
	draw := rand.New(rand.NewPCG(seed, seed))
	host := fmt.Sprintf("h%d", draw.IntN(2))
	ways := [][2]string{{host, "s0"}, {"s0", host}}
	way := ways[draw.IntN(2)]
	u = &unrecoverable{o: Options{Stall: 4 * reportEvery}, with: breaker{left: 1 + draw.IntN(60)}}
	switch seed % 6 {
	case 0, 1: // although lost processes would be waited for
		u.o.Recover = NodeLimit
		u.with.from, u.with.to = way[0], way[1]
		u.want = []string{"no progress for 800ms: " + way[1] + " waits for " + way[0] + ": no envelope for "}
	case 2:
		u.want = []string{"no progress for 800ms: bus unreachable"}
	case 3:
		u.o.Recover = NodeLimit
		u.want = []string{"no progress for 1.6s: bus unreachable"}
	case 4:
		u.ends = way[0]
		u.want = []string{"node " + way[0] + ": "}
		if draw.IntN(2) == 0 {
			u.o.Recover = reportEvery
			u.want = append(u.want, way[0]+" ", "within 200ms")
		}
	default:
		u.o.Silence, u.mute = 3*reportEvery, host
		u.want = []string{"node " + host + ": silent for more than 600ms"}
	}
	return u
}

// run runs the scenario, and returns the error that ends it.
func (u *unrecoverable) run(t *testing.T, text []byte) error {
	r := newRigWith(t, u.o)
	for _, n := range parse(t, text).Nodes {
		if n.Name == u.mute {
			r.fake(t, n.Name, waiting)
			continue
		}
		ctx, end := context.WithCancel(context.Background())
		if n.Name == u.ends {
			u.with.broke = end
		}
		background(t, func(test context.Context, w io.Writer) error {
			defer context.AfterFunc(test, end)()
			conn := breaking{r.bus.Dial(), &u.with}
			return nodeservice.Serve(ctx, conn, nodeservice.Options{Name: n.Name, Nodes: []topology.Node{n}, Rack: rackName, Ready: w})
		})
	}
	_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: text, Quiet: true}, nil)
	return err
}

// TRUST-4: A run that cannot come to its end is ended, and its error names who waits for whom: over a
// link or a bus that is broken permanently, or for a node that is silent, or that has ended and
// is not started again.
func TestUnrecoverableRunsAreDiagnosed(t *testing.T) {
	text := []byte(strings.NewReplacer("16KB", "endless", "100us", "200ms").Replace(pair))
	for seed := range slowtest.Count[uint64](t, 8, 50, "schedules") {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			u := drawn(seed)
			err := u.run(t, text)
			if err == nil {
				t.Fatalf("the run came to its end, want %q", u.want)
			}
			for _, want := range u.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q", err, want)
				}
			}
		})
	}
}

// A live run that stalls stops its clock permanently, whatever Recover permits, and its status
// says why.
func TestStalledLiveRunFails(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, Options{Stall: 12 * reportEvery, Recover: NodeLimit})
	text := strings.NewReplacer("16KB", "endless", "100us", "200ms").Replace(pair)
	link := &breaker{left: 40, from: "h1", to: "s0"}
	for _, n := range parse(t, []byte(text)).Nodes {
		background(t, func(ctx context.Context, w io.Writer) error {
			return nodeservice.Serve(ctx, breaking{r.bus.Dial(), link}, nodeservice.Options{Name: n.Name, Nodes: []topology.Node{n}, Rack: rackName, Ready: w})
		})
	}
	r.startRackWith(t, text)
	out, err := r.API().Step(t.Context(), &rackfabv1.StepRequest{SpanPs: 100e9})
	if err != nil {
		t.Fatal(err)
	}
	s := out.GetStatus()
	if s.GetState() != rackfabv1.RackState_RACK_STATE_FAILED || s.GetFailedNode() != "s0" || s.GetRecoveries() != 0 ||
		!strings.Contains(s.GetFailure(), "no progress for 2.4s: s0 waits for h1: no envelope for ") {
		t.Errorf("got %v", s)
	}
}

// A run does not stall while any process that has not answered advances, or while all have
// answered.
func TestProgressIsNoStall(t *testing.T) {
	ticks := int(StallLimit / reportEvery)
	for name, arrange := range map[string]func(*run){
		"one advances": func(r *run) { r.members.all[1].still = 0 },
		"at the end": func(r *run) {
			r.clock.reached = r.clock.granted
			r.members.nodes[0].answered = true
			r.members.nodes[1].answered = true
			r.members.nodes[2].answered = true
		},
	} {
		r := halted(t, ticks)
		r.service.options.Stall = StallLimit
		arrange(r)
		if r.endStall(); r.failed != nil {
			t.Errorf("%s: failed: %v", name, r.failed.failure)
		}
	}
	r := halted(t, ticks+1)
	r.service.options.Stall = StallLimit
	if r.endStall(); r.failed == nil || r.mayRecover() || time.Duration(ticks)*reportEvery != StallLimit {
		t.Error("no failure after the limit, or one that is recovered from")
	}
}

// A rack whose clock has not been started yet does not stall, however long that takes.
func TestPausedRackIsNoStall(t *testing.T) {
	t.Parallel()
	r := started(t, Options{Stall: reportEvery})
	for range 2 { // each Watch sends a status per tick
		ctx, end := context.WithCancel(t.Context())
		watch, err := r.API().Watch(ctx, &rackfabv1.WatchRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			now, err := watch.Recv()
			if err != nil || now.GetStatus().GetState() != rackfabv1.RackState_RACK_STATE_PAUSED {
				t.Fatalf("%v, %v", now, err)
			}
		}
		end()
	}
	r.step(t, unit.Microsecond)
}

package discovery

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
)

func watch(t *testing.T, conn bus.Conn) *Directory {
	t.Helper()
	d, err := Watch(conn, "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func announce(t *testing.T, conn bus.Conn, rack string, h Hello) func() {
	t.Helper()
	stop, err := Announce(conn, rack, h, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// A node that starts before the controller answers its query. A node that starts later
// announces itself.
func TestWaitFindsEarlyAndLateNodes(t *testing.T) {
	m := bus.NewMemory()
	early := Hello{Name: "h0", Kind: topology.NIC, Address: "127.0.0.1:1", PID: 11, Process: "h0"}
	late := Hello{Name: "s0", Kind: topology.Switch, Address: "127.0.0.1:2", PID: 12, Process: "s0"}
	defer announce(t, m.Dial(), "r", early)()
	d := watch(t, m.Dial())
	found := make(chan []Hello, 1)
	go func() {
		hellos, err := d.Wait(t.Context(), []string{"s0", "h0"})
		if err != nil {
			t.Error(err)
		}
		found <- hellos
	}()
	defer announce(t, m.Dial(), "r", late)()
	if got := <-found; !slices.Equal(got, []Hello{late, early}) {
		t.Fatalf("found %v", got)
	}
	if got := d.Nodes(); !slices.Equal(got, []Hello{early, late}) {
		t.Fatalf("nodes by name: %v", got)
	}
}

func TestWaitNamesMissingNodes(t *testing.T) {
	m := bus.NewMemory()
	d := watch(t, m.Dial())
	defer announce(t, m.Dial(), "r", Hello{Name: "h1"})()
	defer announce(t, m.Dial(), "other", Hello{Name: "h2"})() // of another rack
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Wait(ctx, []string{"h0", "h1", "h2"})
	var missing *MissingError
	if !errors.As(err, &missing) || !slices.Equal(missing.Names, []string{"h0", "h2"}) {
		t.Fatalf("got %v", err)
	}
}

// A node that announces itself just before the deadline is not reported as missing.
func TestWaitReportsTheLastNodesToJoin(t *testing.T) {
	for range 50 { // the order of announcement and deadline is random
		m := bus.NewMemory()
		d := watch(t, m.Dial())
		ctx, cancel := context.WithCancel(t.Context())
		conn := m.Dial()
		stop, err := conn.Subscribe(bus.QuerySubject("r"), func(string, []byte) {
			announce(t, conn, "r", Hello{Name: "h1"})
			cancel()
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Wait(ctx, []string{"h0", "h1"})
		var missing *MissingError
		if !errors.As(err, &missing) || !slices.Equal(missing.Names, []string{"h0"}) {
			t.Fatalf("got %v", err)
		}
		stop()
	}
}

func TestForgottenNodeIsQueriedAgain(t *testing.T) {
	m := bus.NewMemory()
	d := watch(t, m.Dial())
	defer announce(t, m.Dial(), "r", Hello{Name: "h0", PID: 1})()
	defer announce(t, m.Dial(), "r", Hello{Name: "h1", PID: 1, Process: "h0"})()
	d.Forget("h0")
	if got := d.Nodes(); len(got) != 0 {
		t.Fatalf("nodes after Forget: %v", got)
	}
	if _, err := d.Wait(t.Context(), []string{"h0"}); err != nil {
		t.Fatal(err)
	}
}

// A restarted node replaces one that was killed, and keeps its place if a withdrawal of
// the other one arrives late.
func TestLaterHelloReplacesAnEarlierOne(t *testing.T) {
	m := bus.NewMemory()
	d := watch(t, m.Dial())
	killed := m.Dial()
	announce(t, killed, "r", Hello{Name: "h0", PID: 1})
	killed.Close()
	announce(t, m.Dial(), "r", Hello{Name: "h0", PID: 2})
	d.take(bus.AnnouncementSubject("r", "h0"), encode(t, message{Hello: Hello{Name: "h0", PID: 1}, Instance: "killed", Gone: true}))
	if got := d.Nodes(); len(got) != 1 || got[0].PID != 2 {
		t.Fatalf("got %v", got)
	}
}

func TestRejectsNamesInvalidInSubjects(t *testing.T) {
	conn := bus.NewMemory().Dial()
	if _, err := Announce(conn, "r", Hello{Name: "h 0"}, nil); err == nil {
		t.Error("announced a name with a space")
	}
	if _, err := Announce(conn, "a.b", Hello{Name: "h0"}, nil); err == nil {
		t.Error("announced to a rack with a dot")
	}
	if _, err := Watch(conn, ""); err == nil {
		t.Error("watched a rack without a name")
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte(`{"name":"h0","kind":"nic"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := watch(t, bus.NewMemory().Dial())
		d.take(bus.AnnouncementSubject("r", "h0"), data)
		for _, h := range d.Nodes() {
			if h.Name != "h0" {
				t.Fatalf("accepted a hello with name %q from h0", h.Name)
			}
		}
	})
}

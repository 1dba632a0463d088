package discovery

import (
	"encoding/json"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/bus"
)

// claim announces a node of rack r, and returns a channel with its refusal.
func claim(t *testing.T, conn bus.Conn, h Hello) (refused chan error, withdraw func()) {
	t.Helper()
	refused = make(chan error, 16)
	withdraw, err := Announce(conn, "r", h, func(err error) { refused <- err })
	if err != nil {
		t.Fatal(err)
	}
	return refused, withdraw
}

// buses returns a function that connects to a bus, for each kind of bus. Connections to
// the cluster use its two servers in turn.
func buses(t *testing.T) map[string]func() bus.Conn {
	one := serve(t, bus.Cluster{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	pair, next := []string{serve(t, bus.Cluster{Listen: at}), serve(t, bus.Cluster{Listen: "127.0.0.1:0", Routes: []string{at}})}, 0
	return map[string]func() bus.Conn{
		"memory": bus.NewMemory().Dial,
		"nats":   func() bus.Conn { return dial(t, one) },
		"cluster": func() bus.Conn {
			next++
			return dial(t, pair[next%len(pair)])
		},
	}
}

// serve starts a server of the bus and returns its URL.
func serve(t *testing.T, c bus.Cluster) string {
	t.Helper()
	server, err := bus.StartInCluster("", bus.Guard{Open: true}, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return server.URL()
}

func dial(t *testing.T, url string) bus.Conn {
	t.Helper()
	conn, err := bus.DialAs(url, t.Name(), bus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func encode(t *testing.T, m message) []byte {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// await waits until the directory has the nodes and no others.
func await(d *Directory, want ...Hello) {
	for {
		_, _, news := d.find(nil)
		if slices.Equal(d.Nodes(), want) {
			return
		}
		<-news
	}
}

// Of two live nodes of one name, the later one is refused, and the earlier one stays in
// the directory.
func TestSecondNodeOfANameIsRefused(t *testing.T) {
	for name, dial := range buses(t) {
		t.Run(name, func(t *testing.T) {
			d := watch(t, dial())
			first := Hello{Name: "h0", Address: "192.0.2.2:7000", PID: 1, Process: "h0"}
			second := Hello{Name: "h0", Address: "192.0.2.3:7000", PID: 1, Process: "h0"}
			refused, _ := claim(t, dial(), first)
			if _, err := d.Wait(t.Context(), []string{"h0"}); err != nil { // its server knows of the first node
				t.Fatal(err)
			}
			fault, withdraw := claim(t, dial(), second)
			err := <-fault
			var double *RefusedError
			const want = "node h0 at 192.0.2.3:7000 is refused: rack r has a live node of that name, at 192.0.2.2:7000 (PID 1)"
			if !errors.As(err, &double) || err.Error() != want {
				t.Fatalf("got %v\nwant %s", err, want)
			}
			withdraw()
			await(d, first)
			if len(refused) > 0 {
				t.Errorf("the first node is refused too: %v", <-refused)
			}
		})
	}
}

// Two nodes of one name that have both joined, as when the bus was interrupted between
// them, are not both refused: the lesser instance stays.
func TestOneOfTwoJoinedNodesStays(t *testing.T) {
	for _, tt := range []struct {
		own, other message
		want       bool
	}{
		{message{Instance: "A", Joined: true}, message{Instance: "B", Joined: true}, true},
		{message{Instance: "B", Joined: true}, message{Instance: "A", Joined: true}, false}, // A refuses B
		{message{Instance: "B", Joined: true}, message{Instance: "A"}, true},
		{message{Instance: "A"}, message{Instance: "B"}, false},
		{message{Instance: "A", Joined: true}, message{Instance: "B", Refuses: "C"}, false},
	} {
		a := &announcement{own: tt.own, joined: tt.own.Joined}
		if got := a.refuses(tt.other); got != tt.want {
			t.Errorf("%+v refuses %+v: %v", tt.own, tt.other, got)
		}
	}
}

// A node that ends is not listed, and its successor is not refused.
func TestWithdrawnNodeLeaves(t *testing.T) {
	for name, dial := range buses(t) {
		t.Run(name, func(t *testing.T) {
			d := watch(t, dial())
			conn := dial()
			_, withdraw := claim(t, conn, Hello{Name: "h0", PID: 1})
			if _, err := d.Wait(t.Context(), []string{"h0"}); err != nil {
				t.Fatal(err)
			}
			withdraw()
			withdraw() // once is enough
			await(d)
			next := Hello{Name: "h0", PID: 2, Process: "h0"}
			refused, _ := claim(t, conn, next)
			await(d, next)
			if len(refused) > 0 {
				t.Errorf("the successor is refused: %v", <-refused)
			}
		})
	}
}

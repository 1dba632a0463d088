package bus

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// freeAddress returns a loopback address with a port that was free.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// cluster starts n servers that know the address of the first, and waits until each is
// connected to all others.
func cluster(t *testing.T, n int) (servers []*Server) {
	t.Helper()
	first := freeAddress(t)
	for i := range n {
		c := Cluster{Listen: "127.0.0.1:0", Routes: []string{first}}
		if i == 0 {
			c = Cluster{Listen: first}
		}
		s, err := StartInCluster("", Guard{Open: true}, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		servers = append(servers, s)
	}
	for _, s := range servers {
		until(t, "the cluster is not complete", func() bool { return counts(t, s).Servers == n-1 })
	}
	return servers
}

// until waits until reached returns true.
func until(t *testing.T, otherwise string, reached func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(otherwise)
		}
	}
}

func counts(t *testing.T, s *Server) ServerCounts {
	t.Helper()
	c, err := s.Counts()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dialAll connects to the first of the servers that answers.
func dialAll(t *testing.T, servers ...*Server) Conn {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL())
	}
	c, err := DialAs(strings.Join(urls, ","), t.Name(), Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// heard publishes to a subject until a subscriber at another server receives it: interest
// crosses a cluster some time after it is confirmed.
func heard(t *testing.T, from Conn, subject string, got <-chan string) {
	t.Helper()
	until(t, "nothing arrives on "+subject, func() bool {
		publish(t, from, subject, "?")
		return len(got) > 0
	})
	if err := from.Flush(); err != nil {
		t.Fatal(err)
	}
}

// Servers exchange a few messages of their own, so the counts are compared with the
// number of messages sent.
func TestServersOfAClusterForwardToSubscribersOnly(t *testing.T) {
	const n = 1000
	servers := cluster(t, 3)
	sender := dialAll(t, servers[0])
	for _, tt := range []struct {
		group  string
		at     *Server
		across int64 // messages that cross
	}{{"s0", servers[0], 0}, {"s1", servers[1], n}} {
		subject := LinkSubject("r", "h0", tt.group)
		got, _ := listen(t, dialAll(t, tt.at), subject)
		heard(t, sender, subject, got)
		var before [3]ServerCounts
		for i, s := range servers {
			before[i] = counts(t, s)
		}
		for range n {
			publish(t, sender, subject, "x")
		}
		for m := ""; m != subject+" x"; m = <-got {
		}
		for range n - 1 {
			<-got
		}
		out := counts(t, servers[0]).OutToServers - before[0].OutToServers
		in := counts(t, servers[1]).InFromServers - before[1].InFromServers
		other := counts(t, servers[2]).InFromServers - before[2].InFromServers
		if max(out-tt.across, in-tt.across, other) > n/10 || min(out, in) < tt.across {
			t.Errorf("%d messages to %s: server 0 has sent %d to others, 1 has received %d, 2 has received %d", n, tt.group, out, in, other)
		}
	}
}

// A connection uses the first server of its list, and another one when that is gone.
func TestReconnectsToAnotherServerOfTheCluster(t *testing.T) {
	servers := cluster(t, 3)
	other := dialAll(t, servers[2])
	c := dialAll(t, servers[0], servers[1])
	got, _ := listen(t, c, "x")
	if n := counts(t, servers[0]).Connections; n != 1 {
		t.Fatalf("the first server of the list has %d connections, want 1", n)
	}
	servers[0].Shutdown()
	<-c.Reconnected()
	heard(t, other, "x", got)
}

func TestConnectsToAServerThatAnswers(t *testing.T) {
	s := serve(t, "")
	c, err := DialAs("nats://127.0.0.1:1, "+s.URL(), "late", Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := counts(t, s).Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestInvalidClusters(t *testing.T) {
	for want, c := range map[string]Cluster{
		`cluster address "nohost"`:        {Listen: "nohost"},
		`route "here": must be HOST:PORT`: {Listen: "127.0.0.1:0", Routes: []string{"127.0.0.1:1", "here"}},
		"need an address for the cluster": {Routes: []string{"127.0.0.1:1"}},
	} {
		s, err := StartInCluster("", Guard{Open: true}, c)
		if err == nil {
			s.Shutdown()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

// A stock nats-server that reads the printed users admits them with the same permissions.
func TestPrintedUsersAreThoseOfTheBus(t *testing.T) {
	k, _ := member(t)
	user, err := UserOf("r", k, "h0", "h2")
	if err != nil {
		t.Fatal(err)
	}
	silent := User{Public: user.Public, Subscribe: []string{"x"}}
	for _, u := range []User{user, silent} {
		o := &server.Options{}
		path := filepath.Join(t.TempDir(), "users.conf")
		if err := os.WriteFile(path, []byte("authorization {\n"+UsersConfig([]User{u})+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.ProcessConfigFile(path); err != nil {
			t.Fatalf("%v\n%s", err, UsersConfig([]User{u}))
		}
		want := nkeyUsers([]User{u})[0].Permissions
		got := o.Nkeys[0].Permissions
		if o.Nkeys[0].Nkey != u.Public || lists(got) != lists(want) {
			t.Errorf("read back %v, want %v", lists(got), lists(want))
		}
	}
}

// lists returns the patterns of permissions as text.
func lists(p *server.Permissions) string {
	return fmt.Sprint(p.Publish.Allow, p.Publish.Deny, p.Subscribe.Allow, p.Subscribe.Deny)
}

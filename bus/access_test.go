package bus

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// member generates a key and returns both halves.
func member(t *testing.T) (k Key, public string) {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = k.Public(); err != nil {
		t.Fatal(err)
	}
	return k, public
}

// guarded starts the bus of a rack named r with two processes, of the nodes h0 and h2 and
// of h1, and returns their keys.
func guarded(t *testing.T) (s *Server, keys map[string]Key) {
	t.Helper()
	keys = map[string]Key{}
	var users []User
	for name, nodes := range map[string][]string{"h0": {"h0", "h2"}, "h1": {"h1"}, "controller": nil} {
		keys[name], _ = member(t)
		user, err := UserOf("r", keys[name], nodes...)
		if err != nil {
			t.Fatal(err)
		}
		users = append(users, user)
	}
	s, err := StartServer("", Guard{Users: users})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s, keys
}

func dialAs(t *testing.T, s *Server, k Key) Conn {
	t.Helper()
	c, err := DialAs(s.URL(), t.Name(), Access{Key: k})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestServerRejectsClientWithoutRackKey(t *testing.T) {
	s, keys := guarded(t)
	stranger, _ := member(t)
	public, err := keys["h0"].Public()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimPrefix(s.URL(), "nats://")
	for name, tt := range map[string]struct {
		url string
		a   Access
	}{
		"nothing":         {s.URL(), Access{}},
		"a strange key":   {s.URL(), Access{Key: stranger}},
		"a password":      {"nats://h0:guess@" + at, Access{}},
		"a token":         {s.URL(), Access{Login: Login{User: "guess"}}},
		"the public half": {"nats://" + public + "@" + at, Access{}},
	} {
		c, err := DialAs(tt.url, name, tt.a)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			c.Close()
		} else if strings.Contains(err.Error(), "guess") {
			t.Errorf("%s: the error shows the login: %v", name, err)
		}
		dialAs(t, s, keys["h0"]) // its twin
	}
}

// Each row is an operation of a member: one subject refused, one allowed.
func TestMemberPermissionsAreMinimal(t *testing.T) {
	link := func(from, to string) string { return LinkSubject("run-1", from, to) }
	for _, tt := range []struct{ who, do, refused, allowed string }{
		{"h0", "publish", link("h1", "h0"), link("h0", "h1")},
		{"h0", "publish", AnnouncementSubject("r", "h1"), AnnouncementSubject("r", "h0")},
		{"h0", "publish", link("h2", "h1"), link("h0", "h1")},
		{"h0", "publish", AnnouncementSubject("r", "h3"), AnnouncementSubject("r", "h2")},
		{"h0", "publish", AnnouncementSubject("other", "h0"), AnnouncementSubject("r", "h0")},
		{"h0", "publish", QuerySubject("r"), link("h0", "h1")},
		{"h0", "publish", "anything", link("h0", "s0")},
		{"h0", "subscribe", ">", QuerySubject("r")},
		{"h0", "subscribe", "rackfab.>", QuerySubject("r")},
		{"h0", "subscribe", "*.*.*.*.*", InPattern("run-1", "h0")},
		{"h0", "subscribe", InPattern("run-1", "h1"), InPattern("run-1", "h0")},
		{"h0", "subscribe", link("h0", "h1"), link("h1", "h0")},
		{"h0", "subscribe", AnnouncementPattern("r"), QuerySubject("r")},
		{"h0", "subscribe", AnnouncementSubject("r", "h1"), AnnouncementSubject("r", "h0")},
		{"h0", "subscribe", AnnouncementSubject("r", "h3"), AnnouncementSubject("r", "h2")},
		{"h0", "subscribe", "$SYS.>", QuerySubject("r")},
		{"controller", "publish", link("h0", "h1"), QuerySubject("r")},
		{"controller", "publish", AnnouncementSubject("r", "h0"), QuerySubject("r")},
		{"controller", "subscribe", ">", AnnouncementPattern("r")},
		{"controller", "subscribe", InPattern("*", "h0"), AnnouncementSubject("r", "h0")},
	} {
		t.Run(fmt.Sprintf("%s %s %s", tt.who, tt.do, tt.refused), func(t *testing.T) {
			s, keys := guarded(t)
			try := func(subject string) error {
				c := dialAs(t, s, keys[tt.who])
				if tt.do == "publish" {
					publish(t, c, subject, "x")
				} else if _, err := c.Subscribe(subject, func(string, []byte) {}); err != nil {
					t.Fatal(err)
				}
				return c.Flush()
			}
			if err := try(tt.allowed); err != nil {
				t.Errorf("%s: %v", tt.allowed, err)
			}
			if err := try(tt.refused); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v", tt.refused, err)
			}
		})
	}
}

// A refused message reaches nobody, and its sender can continue.
func TestRefusedMessagesAreNotDelivered(t *testing.T) {
	s, keys := guarded(t)
	h0, h1 := dialAs(t, s, keys["h0"]), dialAs(t, s, keys["h1"])
	got, _ := listen(t, h1, InPattern("*", "h1"))
	forged, own := LinkSubject("a", "s0", "h1"), LinkSubject("a", "h0", "h1")
	publish(t, h0, forged, "forged")
	publish(t, h0, own, "own")
	if m := <-got; m != own+" own" {
		t.Errorf("got %q", m)
	}
}

func TestGuardNeedsUsers(t *testing.T) {
	if s, err := StartServer("", Guard{}); err == nil {
		s.Shutdown()
		t.Error("a bus without users started")
	}
}

func TestKeysRoundTripAndDoNotPrint(t *testing.T) {
	k, public := member(t)
	back, err := ParseKey(" " + k.Seed() + "\n")
	if err != nil || back.Seed() != k.Seed() {
		t.Fatalf("read back: %v", err)
	}
	holder := struct {
		Key   Key
		Login Login
	}{k, Login{"root", "hunter2"}}
	for _, shown := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s %q", holder, holder, holder, holder, holder)} {
		for _, secret := range []string{k.Seed(), "hunter2", "root"} {
			if strings.Contains(shown, secret) {
				t.Errorf("shown: %s", shown)
			}
		}
	}
	for _, bad := range []string{"", "SU", "SUAGUESS", public, strings.ToLower(k.Seed()), k.Seed()[:50], "SA" + k.Seed()[2:]} {
		if _, err := ParseKey(bad); err == nil || len(bad) > 2 && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSplitLogin(t *testing.T) {
	for in, want := range map[string]struct {
		clean string
		login Login
	}{
		"nats://127.0.0.1:4222":               {"nats://127.0.0.1:4222", Login{}},
		"nats://a:b@127.0.0.1:4222":           {"nats://127.0.0.1:4222", Login{"a", "b"}},
		"nats://token@host":                   {"nats://host", Login{User: "token"}},
		"nats://a:b@one:1,nats://a:b@two:2":   {"nats://one:1,nats://two:2", Login{"a", "b"}},
		"tls://one:1, nats://a:b%40c@two:222": {"tls://one:1,nats://two:222", Login{"a", "b@c"}},
	} {
		if clean, login := SplitLogin(in); clean != want.clean || login != want.login {
			t.Errorf("%s: %s, %q %q", in, clean, login.User, login.Password)
		}
	}
}

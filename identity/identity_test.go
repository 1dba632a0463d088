package identity

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
)

// folder creates an identity folder with the nodes h0 and s0.
func folder(t *testing.T, now time.Time) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	if err := Make(dir, []string{"h0", "s0"}, []string{"rack.example", "192.0.2.1"}, now); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	dir, files := folder(t, time.Now()), 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 2*6 + 3; files != want { // the CA; certificates of 6 members; keys of 3
		t.Errorf("%d files, want %d", files, want)
	}
}

func TestCertificateCoversMemberAndHosts(t *testing.T) {
	dir := folder(t, time.Now())
	for member, names := range map[string][]string{
		"h0":       {"h0", "localhost", "127.0.0.1", "::1", "rack.example", "192.0.2.1"},
		Controller: {Controller, "localhost", "127.0.0.1"},
		Client:     nil,
	} {
		who, err := Load(dir, member)
		if err != nil {
			t.Fatal(err)
		}
		leaf := who.cert.Leaf
		for _, name := range names {
			if err := leaf.VerifyHostname(name); err != nil {
				t.Errorf("%s: %v", member, err)
			}
		}
		for _, other := range []string{"s0", "r9", "127.0.0.2"} {
			if leaf.VerifyHostname(other) == nil {
				t.Errorf("%s is accepted as %s", member, other)
			}
		}
		if want := member != "h0"; MayCommand(leaf) != want {
			t.Errorf("%s may command: %v", member, !want)
		}
	}
}

// A second Make keeps the CA and the keys; older certificates go on working with newer
// ones.
func TestMakeKeepsExistingKeys(t *testing.T) {
	dir := folder(t, time.Now())
	before, err := Load(dir, "h0")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ReadKey(KeyPath(dir, "h0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := MakeMissing(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	after, err := Load(dir, "h0")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ReadKey(KeyPath(dir, "h0")); err != nil || again.Seed() != key.Seed() {
		t.Errorf("another key: %v", err)
	}
	if before.cert.Leaf.Equal(after.cert.Leaf) {
		t.Error("the certificate was not renewed")
	}
	if _, err := before.cert.Leaf.Verify(x509.VerifyOptions{Roots: after.roots}); err != nil {
		t.Error(err)
	}
}

func TestEmptyFolderMeansPlainTCP(t *testing.T) {
	who, err := Load("", "h0")
	if who != nil || err != nil || who.Server() != nil || who.Client("x") != nil {
		t.Errorf("%v, %v", who, err)
	}
}

func TestMutualTLS13(t *testing.T) {
	who, err := Load(folder(t, time.Now()), "h0")
	if err != nil {
		t.Fatal(err)
	}
	if s := who.Server(); s.MinVersion != tls.VersionTLS13 || s.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Errorf("server: %x, %v", s.MinVersion, s.ClientAuth)
	}
	if c := who.Client("s0"); c.MinVersion != tls.VersionTLS13 || c.ServerName != "s0" || c.InsecureSkipVerify || len(c.Certificates) != 1 {
		t.Errorf("client: %+v", c)
	}
}

// Every fault of a certificate is reported in one line that names the file.
func TestLoadErrors(t *testing.T) {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, name))) }
	}
	put := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	}
	swap := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			text, err := os.ReadFile(filepath.Join(dir, from))
			check(t, err)
			check(t, os.WriteFile(filepath.Join(dir, to), text, 0o600))
		}
	}
	year := 366 * 24 * time.Hour
	for _, tt := range []struct {
		name, want string
		made       time.Time
		corrupt    func(*testing.T, string)
	}{
		{"missing", "no certificate of h0 in ", time.Now(), func(t *testing.T, dir string) { check(t, os.RemoveAll(filepath.Join(dir, "h0"))) }},
		{"no certificate", "h0/tls.pem: no such file", time.Now(), remove("h0/tls.pem")},
		{"no CA", "h0/ca.pem: no such file", time.Now(), remove("h0/ca.pem")},
		{"not PEM", "h0/tls.pem: no PEM block", time.Now(), put("h0/tls.pem", "noise")},
		{"no key", "h0/tls.pem: tls: ", time.Now(), swap("h0/ca.pem", "h0/tls.pem")},
		{"CA is not PEM", "h0/ca.pem: no certificate", time.Now(), put("h0/ca.pem", "noise")},
		{"of another node", "h0/tls.pem: certificate of s0, want h0", time.Now(), swap("s0/tls.pem", "h0/tls.pem")},
		{"expired", "h0/tls.pem: expired on ", time.Now().Add(-year), func(*testing.T, string) {}},
		{"not yet", "h0/tls.pem: valid from ", time.Now().Add(year), func(*testing.T, string) {}},
		{"of another CA", "h0/tls.pem: not signed by ", time.Now(), func(t *testing.T, dir string) {
			swap("../"+filepath.Base(other(t, dir))+"/h0/tls.pem", "h0/tls.pem")(t, dir)
		}},
		{"readable by others", "h0/tls.pem: readable by others (mode 0644): chmod 600", time.Now(), func(t *testing.T, dir string) { check(t, os.Chmod(filepath.Join(dir, "h0/tls.pem"), 0o644)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, tt.made)
			tt.corrupt(t, dir)
			_, err := Load(dir, "h0")
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// other creates a second folder beside dir, with another CA.
func other(t *testing.T, dir string) string {
	t.Helper()
	path := dir + "-other"
	check(t, Make(path, []string{"h0"}, nil, time.Now()))
	return path
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A member needs only its own folder, and so does a client that uses it.
func TestMemberFolder(t *testing.T) {
	own := filepath.Join(folder(t, time.Now()), "h0")
	for _, member := range []string{"h0", Client} {
		if _, err := Load(own, member); err != nil {
			t.Error(err)
		}
	}
	if _, err := Load(own, "s0"); err == nil || !strings.Contains(err.Error(), "certificate of h0, want s0") {
		t.Errorf("got %v", err)
	}
}

func TestUsers(t *testing.T) {
	dir := folder(t, time.Now())
	users, err := Users(dir, "r", nil)
	check(t, err)
	var subjects []string
	for _, u := range users {
		subjects = append(subjects, u.Publish[len(u.Publish)-1])
	}
	want := []string{bus.QuerySubject("r"), bus.AnnouncementSubject("r", "h0"), bus.AnnouncementSubject("r", "s0")}
	if strings.Join(subjects, " ") != strings.Join(want, " ") {
		t.Errorf("users may publish on %v, want %v", subjects, want)
	}
	users, err = Users(dir, "r", nil, []string{"s0", "h7"})
	check(t, err)
	own := users[len(users)-1]
	if have := strings.Join(own.Publish[1:], " "); len(users) != 3 || have != bus.AnnouncementSubject("r", "s0")+" "+bus.AnnouncementSubject("r", "h7") {
		t.Errorf("the last of %d users announces on %s", len(users), have)
	}
	if _, err = Users(dir, "r", nil, []string{"h7", "s0"}); err == nil || !strings.Contains(err.Error(), "h7/nkey: no such file") {
		t.Errorf("a worker without a key: %v", err)
	}
	users, err = Users(dir, "r", []string{"s0"})
	check(t, err)
	own = users[len(users)-1]
	if have := strings.Join(own.Subscribe, " "); have != "rackfab.*.link.*.* rackfab.rack.*.who rackfab.rack.*.hello.*" || users[0].Publish[0] != "rackfab.rack.*.who" {
		t.Errorf("a free worker subscribes to %s; the controller publishes on %v", have, users[0].Publish)
	}
	check(t, os.WriteFile(KeyPath(dir, "h0"), []byte("noise"), 0o600))
	check(t, os.Chmod(KeyPath(dir, "s0"), 0o604))
	_, err = Users(dir, "r", nil)
	for _, want := range []string{"h0/nkey: invalid nkey", "s0/nkey: readable by others"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, empty := range []string{t.TempDir(), filepath.Join(dir, "missing")} {
		if _, err := Users(empty, "r", nil); err == nil {
			t.Errorf("%s has users", empty)
		}
	}
}

func TestInvalidFolderNames(t *testing.T) {
	for _, name := range []string{Bus, Controller, Collector, Client, CA, "a/b", "..", "a b", ""} {
		if err := Make(t.TempDir(), []string{"h0", name}, nil, time.Now()); err == nil {
			t.Errorf("created a folder for the invalid name %q", name)
		}
	}
}

func TestInvalidCA(t *testing.T) {
	dir := folder(t, time.Now())
	text, err := os.ReadFile(filepath.Join(dir, "h0", "tls.pem"))
	check(t, err)
	for _, bad := range []string{"noise", string(text)} {
		check(t, os.WriteFile(filepath.Join(dir, CA, "ca.key"), []byte(bad), 0o600))
		if err := Make(dir, []string{"h0"}, nil, time.Now()); err == nil || !strings.Contains(err.Error(), "ca.key") {
			t.Errorf("got %v", err)
		}
	}
}

// A secret of root may be readable by the group of another user's process, as Kubernetes
// mounts it. Any other secret is its owner's alone.
func TestPrivateFiles(t *testing.T) {
	for _, tt := range []struct {
		mode                   fs.FileMode
		ofRoot, asRoot, accept bool
	}{
		{0o600, false, false, true},
		{0o400, true, true, true},
		{0o440, true, false, true},
		{0o440, true, true, false},
		{0o440, false, false, false},
		{0o460, true, false, false},
		{0o444, true, false, false},
		{0o604, true, false, false},
		{0o640, false, true, false},
	} {
		if have := private(tt.mode, tt.ofRoot, tt.asRoot); have != tt.accept {
			t.Errorf("mode %04o, of root: %t, read by root: %t: accepted is %t", tt.mode, tt.ofRoot, tt.asRoot, have)
		}
	}
}

package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/bus"
)

// anyKey matches any key: the seed of an nkey, or the header of a PEM private key.
var anyKey = regexp.MustCompile(`S[ACNOUX][A-Z2-7]{56}|PRIVATE KEY-----`)

// secrets returns the keys of a rack's members by name: seeds of nkeys as text, private
// keys in DER and as the bare number.
func secrets(t *testing.T, certs string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for path, text := range kept(t, certs) {
		if filepath.Base(path) == "nkey" {
			all[path] = bytes.TrimSpace(text)
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if !strings.Contains(block.Type, "PRIVATE KEY") {
				continue
			}
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				t.Fatal(path, err)
			}
			number, err := key.(*ecdsa.PrivateKey).Bytes()
			if err != nil {
				t.Fatal(path, err)
			}
			all[path], all[path+", the number"] = block.Bytes, number
		}
	}
	return all
}

// kept reads every file below dirs.
func kept(t *testing.T, dirs ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files[path], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// spellings returns the encodings in which a secret may be stored.
func spellings(secret []byte) [][]byte {
	return [][]byte{secret, []byte(hex.EncodeToString(secret)), []byte(base64.RawStdEncoding.EncodeToString(secret))}
}

// found returns the names of the secrets that data contains.
func found(data []byte, secrets map[string][]byte) (names []string) {
	for name, s := range secrets {
		if slices.ContainsFunc(spellings(s), func(form []byte) bool { return bytes.Contains(data, form) }) {
			names = append(names, name)
		}
	}
	if is := anyKey.Find(data); is != nil {
		names = append(names, "a key: "+string(is))
	}
	return names
}

// token returns the token that the page of a rack requires on its calls.
func (r *rack) token(t *testing.T) []byte {
	t.Helper()
	answer, err := http.Get(r.pages + "/api/session")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var session struct{ Token string }
	if err := json.NewDecoder(answer.Body).Decode(&session); err != nil || session.Token == "" {
		t.Fatalf("no token: %v", err)
	}
	return []byte(session.Token)
}

// runLive runs a live rack with certificates and a burst of that name. It returns the
// files that the rack leaves behind, the output of its commands, and the secrets of the
// rack.
func runLive(t *testing.T, certs, burst string) (files, hidden map[string][]byte) {
	t.Helper()
	r := up(t, "star-2", "--tls", certs, "--paused", "--sample-ratio", "1", "--http", "127.0.0.1:0")
	hidden = secrets(t, certs)
	hidden["the page's token"] = r.token(t)
	c := r.capture(t, "--at", "s0", "--for", "1ms")
	var said strings.Builder
	for _, line := range []string{"burst --name " + burst + " --from h0..h1 --to r0 --size 64KB", "step 2ms", "status", "settings", "stats", "runs", "journal save " + filepath.Join(filepath.Dir(c.file), "saved.yaml")} {
		said.WriteString(r.do(t, strings.Fields(line)...))
	}
	said.WriteString(c.end(t))
	r.interrupt(t)
	files = kept(t, filepath.Dir(r.journal), filepath.Dir(c.file))
	files["what commands print"] = []byte(said.String())
	return files, hidden
}

// No file that a rack writes contains a secret: traces and points, journals, captures,
// results. Neither does the output of its commands.
func TestStoredFilesContainNoSecrets(t *testing.T) {
	certs := filepath.Join(t.TempDir(), "certs")
	must(t, exec.Command(program, "certs", "star-2", "--output", certs))
	t.Setenv("RACKFAB_TLS", certs)
	files, hidden := runLive(t, certs, "burst")
	t.Setenv("RACKFAB_TLS", "")
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	const password = "correct-horse-battery-staple" //nolint:gosec // only for this test
	hidden["the password"] = []byte(password)
	out := t.TempDir()
	url := strings.Replace(server.URL(), "nats://", "nats://rack:"+password+"@", 1)
	files["what a run prints"] = []byte(must(t, exec.Command(program, "run", "star-2", "--scheme", "pcn", "--duration", "1ms", "--nats-url", url, "--telemetry", "--sample-ratio", "1", "--output", out)))
	for path, data := range kept(t, out) {
		files[path] = data
	}
	kinds := map[string]int{}
	for path, data := range files {
		if names := found(data, hidden); len(names) > 0 {
			t.Errorf("%s contains %v", path, names)
		}
		kinds[filepath.Ext(path)]++
	}
	for _, kind := range []string{".db", ".yaml", ".pcapng", ".json", ".html"} {
		if kinds[kind] == 0 {
			t.Errorf("no file of kind %s, only %v", kind, kinds)
		}
	}
	// Five members of star-2 are on the bus; nine have a certificate.
	if len(hidden) != 5+2*9+2 {
		t.Errorf("searched for %d secrets", len(hidden))
	}
}

// The same search finds the seed of h0 in the files of a rack whose burst has the seed
// as its name, and every secret in every encoding appended to a capture.
func TestStoredSecretIsDetected(t *testing.T) {
	certs := filepath.Join(t.TempDir(), "certs")
	must(t, exec.Command(program, "certs", "star-2", "--output", certs))
	t.Setenv("RACKFAB_TLS", certs)
	key := filepath.Join(certs, "h0", "nkey")
	files, hidden := runLive(t, certs, string(secrets(t, certs)[key]))
	want := map[string]bool{"journal.yaml": false, "saved.yaml": false, "000001.db": false, "what commands print": false}
	for path, data := range files {
		if _, ok := want[filepath.Base(path)]; ok {
			want[filepath.Base(path)] = slices.Contains(found(data, hidden), key)
		}
		if filepath.Ext(path) != ".pcapng" {
			continue
		}
		for spelling := range spellings(nil) {
			planted := data
			for _, s := range hidden {
				planted = slices.Concat(planted, spellings(s)[spelling])
			}
			names := found(planted, hidden)
			for name := range hidden {
				if !slices.Contains(names, name) {
					t.Errorf("%s is not found in spelling %d", name, spelling)
				}
			}
		}
	}
	for name, has := range want {
		if !has {
			t.Errorf("%s: the seed of h0 was not found", name)
		}
	}
}

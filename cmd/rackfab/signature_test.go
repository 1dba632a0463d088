package main

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/bus"
)

// signsIn connects to the bus in the protocol of NATS, with the public half of one key
// and the signature of another. It signs nonce, "" for that of the bus.
func (r *secureRack) signsIn(t *testing.T, public, signer bus.Key, nonce string) error {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.bus, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	line, err := bufio.NewReaderSize(conn, 1).ReadString('\n') // the server sends no more before TLS
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ Nonce string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil || info.Nonce == "" {
		t.Fatalf("%q: %v", line, err)
	}
	name, err := public.Public()
	if err != nil {
		t.Fatal(err)
	}
	c := r.shows(t, r.dir, "h0", wants("localhost"))
	secured := tls.Client(conn, c)
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(private(t, signer), []byte(cmp.Or(nonce, info.Nonce))))
	if _, err := fmt.Fprintf(secured, "CONNECT {\"nkey\":%q,\"sig\":%q,\"verbose\":false,\"tls_required\":true}\r\nPING\r\n", name, signature); err != nil {
		return err
	}
	for in := bufio.NewReader(secured); ; {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "-ERR"):
			return fmt.Errorf("%w: %s", bus.ErrRefused, line)
		case strings.HasPrefix(line, "PONG"):
			return nil
		case !strings.HasPrefix(line, "INFO"):
			return errors.New(line)
		}
	}
}

// private returns the Ed25519 key of a seed: base32 of two bytes for the kind, the seed
// and a checksum.
func private(t *testing.T, k bus.Key) ed25519.PrivateKey {
	t.Helper()
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(k.Seed())
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(raw[2 : 2+ed25519.SeedSize])
}

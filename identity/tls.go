package identity

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// nodeUnit is the organizational unit in the certificate of every node. The unit of any
// other member is the member's own name.
const nodeUnit = "node"

func unitOf(member string) string {
	if slices.Contains(Reserved, member) {
		return member
	}
	return nodeUnit
}

// TLS holds the certificate of a member and the CA that it trusts, for mutual TLS 1.3. A
// nil TLS means plain TCP everywhere.
type TLS struct {
	cert  tls.Certificate
	roots *x509.CertPool
}

// Load reads the certificate of a member from the folder of the whole rack or from the
// member's own folder. It returns nil if dir is empty. For Client, the certificate of
// any member will do. The error names the file and says what is wrong with it.
func Load(dir, member string) (*TLS, error) {
	if dir == "" {
		return nil, nil
	}
	home := filepath.Join(dir, member)
	if _, err := os.Stat(home); err != nil {
		if home = dir; !isFile(filepath.Join(dir, leafFile)) {
			return nil, missingError(fmt.Sprintf("no certificate of %s in %s: `rackfab certs --output %[2]s` creates them", member, dir))
		}
	}
	t, err := load(home, time.Now())
	if err != nil {
		return nil, err
	}
	if name := t.cert.Leaf.Subject.CommonName; name != member && member != Client {
		return nil, fmt.Errorf("%s: certificate of %s, want %s", filepath.Join(home, leafFile), name, member)
	}
	return t, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// load reads a member's folder and verifies its certificate against the CA and the time.
func load(home string, now time.Time) (*TLS, error) {
	leafPath, caPath := filepath.Join(home, leafFile), filepath.Join(home, caFile)
	text, err := readSecret(leafPath)
	if err != nil {
		return nil, err
	}
	cert, key, err := parsePair(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", leafPath, err)
	}
	ca, err := os.ReadFile(caPath)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s: no certificate", caPath)
	}
	switch {
	case now.After(cert.NotAfter):
		return nil, fmt.Errorf("%s: expired on %s: `rackfab certs` renews it", leafPath, cert.NotAfter.Format(time.DateOnly))
	case now.Before(cert.NotBefore):
		return nil, fmt.Errorf("%s: valid from %s, but this machine's clock says %s", leafPath, cert.NotBefore.Format(time.DateTime), now.Format(time.DateTime))
	}
	any := []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: any}); err != nil {
		return nil, fmt.Errorf("%s: not signed by %s: %w", leafPath, caPath, err)
	}
	return &TLS{tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}, roots}, nil
}

// parsePair reads a certificate and its key from one file.
func parsePair(text []byte) (cert *x509.Certificate, key crypto.Signer, err error) {
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		block, _ := pem.Decode(text)
		if block == nil {
			err = errors.New("no PEM block")
		}
		return nil, nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("the private key cannot sign")
	}
	return pair.Leaf, key, nil
}

// Server returns the configuration of a server, which requires a client certificate
// signed by the rack's CA.
func (t *TLS) Server() *tls.Config {
	if t == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{t.cert},
		ClientCAs: t.roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// Client returns the configuration of a client that expects the server to be the member
// called name. If name is empty, the server's certificate must match the host that is
// dialed.
func (t *TLS) Client(name string) *tls.Config {
	if t == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{t.cert}, RootCAs: t.roots, ServerName: name}
}

// Mutual returns the configuration of both ends of a connection between processes that
// are the same member, such as the servers of the bus, and accept no other. The server's
// certificate must match the host that is dialed.
func (t *TLS) Mutual(member string) *tls.Config {
	if t == nil {
		return nil
	}
	c := t.Server()
	c.RootCAs = t.roots
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if name := s.PeerCertificates[0].Subject.CommonName; name != member {
			return fmt.Errorf("certificate of %s, want %s", name, member)
		}
		return nil
	}
	return c
}

// MayCommand reports whether the owner of a certificate may control a rack: only clients
// and the controller may.
func MayCommand(cert *x509.Certificate) bool {
	return slices.Contains(cert.Subject.OrganizationalUnit, Client) || slices.Contains(cert.Subject.OrganizationalUnit, Controller)
}

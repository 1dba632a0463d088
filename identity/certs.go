package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/disk"
)

// Validity periods of certificates. Each begins an hour before the certificate is made,
// because clocks differ.
const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 365 * 24 * time.Hour
	skew     = time.Hour
)

// PEM block types in the files.
const (
	certBlock = "CERTIFICATE"
	keyBlock  = "PRIVATE KEY"
)

// authority is a CA with its certificate and its private key.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte // cert as PEM
}

// Make creates the keys and certificates of every member of a rack with the given nodes.
// It creates a bus key where a member has none. It issues every certificate anew, signed
// by the folder's CA, and creates the CA if there is none. A certificate covers the
// member's name, this machine and hosts (names and addresses), and is valid for one year
// from now.
func Make(dir string, nodes, hosts []string, now time.Time) error {
	if err := checkNames(nodes); err != nil {
		return err
	}
	ca, err := openCA(dir, now)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat([]string{Bus, Controller, Collector, Client}, nodes) {
		home := filepath.Join(dir, name)
		if err := os.MkdirAll(home, 0o700); err != nil {
			return err
		}
		leaf, err := ca.leaf(name, hosts, now)
		if err != nil {
			return err
		}
		if err := errors.Join(
			disk.Replace(filepath.Join(home, leafFile), disk.Secret, disk.Text(leaf)),
			disk.Replace(filepath.Join(home, caFile), disk.Secret, disk.Text(ca.pem))); err != nil {
			return err
		}
	}
	return MakeKeys(dir)
}

// MakeMissing calls Make for the nodes that have a folder in dir.
func MakeMissing(dir string, now time.Time) error {
	names, err := onBus(dir)
	if err != nil {
		return err
	}
	return Make(dir, slices.DeleteFunc(names, func(n string) bool { return n == Controller }), nil, now)
}

// checkNames reports every name that cannot name a node's folder.
func checkNames(nodes []string) error {
	var faults []error
	for _, n := range nodes {
		if err := bus.CheckToken(n); err != nil {
			faults = append(faults, err)
		} else if slices.Contains(Reserved, n) || filepath.Base(n) != n {
			faults = append(faults, fmt.Errorf("node %q: the name is reserved or cannot name a folder", n))
		}
	}
	return errors.Join(faults...)
}

// openCA reads the CA of a folder, or creates it.
func openCA(dir string, now time.Time) (*authority, error) {
	path := filepath.Join(dir, CA, caKey)
	text, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = newCA(path, now); err == nil || errors.Is(err, fs.ErrExist) { // of another process
			text, err = readSecret(path)
		}
	}
	if err != nil {
		return nil, err
	}
	cert, key, err := parsePair(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !cert.IsCA || now.After(cert.NotAfter) {
		return nil, fmt.Errorf("%s: not a valid CA, or expired: remove it and run `rackfab certs` again", path)
	}
	return &authority{cert, key, encode(certBlock, cert.Raw)}, nil
}

// newCA creates a CA and writes it to a new file.
func newCA(path string, now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	t, err := template("rackfab CA", CA, now, caLife)
	if err != nil {
		return err
	}
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	text, err := issue(t, nil)
	if err != nil {
		return err
	}
	return disk.New(path, disk.Secret, disk.Text(text))
}

// leaf returns the certificate of a member and its private key, as PEM. A client runs no
// server, so its certificate covers no host name.
func (a *authority) leaf(name string, hosts []string, now time.Time) ([]byte, error) {
	t, err := template(name, unitOf(name), now, leafLife)
	if err != nil {
		return nil, err
	}
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if name != Client {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		for _, host := range slices.Concat([]string{name, "localhost", "127.0.0.1", "::1"}, hosts) {
			if ip := net.ParseIP(host); ip != nil {
				t.IPAddresses = append(t.IPAddresses, ip)
			} else {
				t.DNSNames = append(t.DNSNames, host)
			}
		}
	}
	return issue(t, a)
}

func template(name, unit string, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, OrganizationalUnit: []string{unit}, Organization: []string{"rackfab"}},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(life),
	}, err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// issue creates a key and its certificate, signed by an authority or, without one, by the
// key itself. It returns both as the content of one file, so that the two can never be
// out of step.
func issue(t *x509.Certificate, by *authority) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if by == nil {
		by = &authority{cert: t, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", t.Subject.CommonName, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	return append(encode(certBlock, der), encode(keyBlock, secret)...), err
}

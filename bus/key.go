package bus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"
)

// Key is the key with which a member of a rack authenticates to the bus: an nkey,
// Ed25519. It never leaves the process; the bus receives only a signature. Printing a
// Key does not reveal it. The zero Key means no key.
type Key struct{ secret *secret }

// secret is a pointer target, so that printing a struct with a key shows an address.
type secret struct{ seed string }

// NewKey generates a key.
func NewKey() (Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Key{}, fmt.Errorf("generate key: %w", err)
	}
	defer pair.Wipe()
	seed, err := pair.Seed()
	return Key{&secret{string(seed)}}, err
}

// ParseKey parses the seed of a user's nkey, "SU...". It ignores surrounding space. The
// error does not quote the seed.
func ParseKey(text string) (Key, error) {
	k := Key{&secret{strings.TrimSpace(text)}}
	if !strings.HasPrefix(k.Seed(), "SU") {
		return Key{}, errors.New("invalid nkey: must be the seed of a user, which begins with SU")
	}
	if _, err := k.Public(); err != nil {
		return Key{}, errors.New("invalid nkey seed: wrong checksum or length")
	}
	return k, nil
}

// Seed returns the secret seed, in the form that ParseKey accepts.
func (k Key) Seed() string {
	if k.secret == nil {
		return ""
	}
	return k.secret.seed
}

// IsZero reports whether the key is the zero Key.
func (k Key) IsZero() bool { return k.Seed() == "" }

// Public returns the public key, "U...", which the bus knows.
func (k Key) Public() (string, error) {
	pair, err := nkeys.FromSeed([]byte(k.Seed()))
	if err != nil {
		return "", fmt.Errorf("key: %w", err)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// sign signs the nonce of the bus.
func (k Key) sign(nonce []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed([]byte(k.Seed()))
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}

// String hides the seed when the key is printed.
func (Key) String() string { return "[key]" }

// GoString hides the seed from %#v.
func (Key) GoString() string { return "bus.Key{}" }

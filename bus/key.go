package bus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"
)

// Key is what a member of a rack proves to the bus that it is itself with: an
// nkey, Ed25519. It stays in the process: the bus sees a signature. Printed, a Key
// shows nothing; the zero Key is none.
type Key struct{ secret *secret }

// secret is behind a pointer, so that printing what holds a key shows an address.
type secret struct{ seed string }

// NewKey makes a key.
func NewKey() (Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Key{}, fmt.Errorf("make a key: %w", err)
	}
	defer pair.Wipe()
	seed, err := pair.Seed()
	return Key{&secret{string(seed)}}, err
}

// ParseKey reads the seed of a user's nkey, "SU...", with space around it. The
// error does not quote it.
func ParseKey(text string) (Key, error) {
	k := Key{&secret{strings.TrimSpace(text)}}
	if !strings.HasPrefix(k.Seed(), "SU") {
		return Key{}, errors.New("no nkey seed of a user, which begins with SU")
	}
	if _, err := k.Public(); err != nil {
		return Key{}, errors.New("no nkey seed: its checksum or length is wrong")
	}
	return k, nil
}

// Seed is the secret: what ParseKey reads.
func (k Key) Seed() string {
	if k.secret == nil {
		return ""
	}
	return k.secret.seed
}

// IsZero tells whether there is no key.
func (k Key) IsZero() bool { return k.Seed() == "" }

// Public is the half that the bus knows, "U...".
func (k Key) Public() (string, error) {
	pair, err := nkeys.FromSeed([]byte(k.Seed()))
	if err != nil {
		return "", fmt.Errorf("key: %w", err)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// sign answers what the bus asks a connection to sign.
func (k Key) sign(nonce []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed([]byte(k.Seed()))
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}

// String hides the seed, in whatever way the key is printed.
func (Key) String() string { return "[key]" }

// GoString hides the seed from %#v.
func (Key) GoString() string { return "bus.Key{}" }

// Package identity is who is who in a rack: the keys and certificates of its
// members, in a folder with one folder per member, so that each can be given its
// own alone. It knows files and names; it does not know what a member does.
//
//	DIR/<member>/nkey     the member's key for the bus
//	DIR/<member>/tls.pem  its certificate and the key of that
//	DIR/<member>/ca.pem   the certificate of the rack's CA
//	DIR/ca/ca.key         the key of the CA
//
// Members are the nodes and those that Reserved lists.
package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rackfab/rackfab/bus"
)

// Members that are no nodes. Client is whoever calls the others from outside; CA
// signs, and is no process.
const (
	Bus        = "bus"
	Controller = "controller"
	Collector  = "collector"
	Client     = "client"
	CA         = "ca"
)

// Reserved are the names that no node of a rack with an identity folder has.
var Reserved = []string{Bus, Controller, Collector, Client, CA}

// Names of a member's files.
const (
	keyFile  = "nkey"
	leafFile = "tls.pem"
	caFile   = "ca.pem"
	caKey    = "ca.key"
)

// KeyPath is the file of a member's key for the bus.
func KeyPath(dir, member string) string { return filepath.Join(dir, member, keyFile) }

// ReadKey reads a key for the bus. A file that others than its owner may read is
// refused, as it is no secret.
func ReadKey(path string) (bus.Key, error) {
	text, err := readSecret(path)
	if err != nil {
		return bus.Key{}, err
	}
	key, err := bus.ParseKey(string(text))
	if err != nil {
		return key, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// readSecret reads a file that is its owner's alone.
func readSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s: others may read it (mode %04o): chmod 600", path, mode)
	}
	return os.ReadFile(path)
}

// writeSecret writes a file that is its owner's alone, whole at every moment.
func writeSecret(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // has mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// MakeKeys makes the key of every member of the bus whose folder has none.
func MakeKeys(dir string) error {
	names, err := onBus(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := KeyPath(dir, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			continue // Users tells what is wrong with it
		}
		key, err := bus.NewKey()
		if err != nil {
			return err
		}
		if err := writeSecret(path, []byte(key.Seed()+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// Users are the members of the bus of a rack, as their folders say: the
// controller and the nodes. Whatever is wrong is told at once.
func Users(dir, rack string) ([]bus.User, error) {
	names, err := onBus(dir)
	if err != nil {
		return nil, err
	}
	var users []bus.User
	var faults []error
	for _, name := range names {
		key, err := ReadKey(KeyPath(dir, name))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		public, err := key.Public()
		if err != nil {
			faults = append(faults, err)
		}
		if name == Controller {
			users = append(users, bus.ControllerUser(rack, public))
		} else {
			users = append(users, bus.NodeUser(rack, name, public))
		}
	}
	return users, errors.Join(faults...)
}

// onBus lists the members of a folder that talk on the bus, by name.
func onBus(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		name := e.Name()
		if !e.IsDir() || name != Controller && slices.Contains(Reserved, name) {
			continue
		}
		if err := bus.CheckToken(name); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no folder of a node or of the controller in it", dir)
	}
	return names, nil
}

// Package identity keeps the keys and certificates of the members of a rack. They live
// in a folder with one subfolder per member, so that each member can be given only its
// own. The package knows files and names; it does not know what a member does.
//
//	DIR/<member>/nkey     the member's key for the bus
//	DIR/<member>/tls.pem  its certificate with the private key
//	DIR/<member>/ca.pem   the certificate of the rack's CA
//	DIR/ca/ca.key         the private key of the CA
//
// The members are the nodes and those listed in Reserved.
package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/disk"
)

// Names of the members that are not nodes. Client is any caller from outside; CA signs
// certificates and is not a process.
const (
	Bus        = "bus"
	Controller = "controller"
	Collector  = "collector"
	Client     = "client"
	CA         = "ca"
)

// Reserved lists the names that no node may have in a rack with an identity folder.
var Reserved = []string{Bus, Controller, Collector, Client, CA}

// File names in a member's folder.
const (
	keyFile  = "nkey"
	leafFile = "tls.pem"
	caFile   = "ca.pem"
	caKey    = "ca.key"
)

// KeyPath returns the path of a member's key for the bus.
func KeyPath(dir, member string) string { return filepath.Join(dir, member, keyFile) }

// ReadKey reads a bus key. It refuses a file that others may read, see private.
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

// readSecret reads a file that is private.
func readSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); !private(mode, rootOwns(info), os.Geteuid() == 0) {
		return nil, fmt.Errorf("%s: readable by others (mode %04o): chmod 600", path, mode)
	}
	return os.ReadFile(path)
}

// private reports whether a file of a mode may be a secret: only its owner may read it, or
// root and the group of a process that is not root. The latter is how Kubernetes mounts
// the files of a Secret.
func private(mode fs.FileMode, ofRoot, asRoot bool) bool {
	return mode&0o077 == 0 || mode&0o037 == 0 && ofRoot && !asRoot
}

// MakeKeys creates a key for every member of the bus that has none.
func MakeKeys(dir string) error {
	names, err := onBus(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := KeyPath(dir, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			continue // Users reports an invalid key
		}
		key, err := bus.NewKey()
		if err != nil {
			return err
		}
		err = disk.New(path, disk.Secret, disk.Text(key.Seed()+"\n"))
		if err != nil && !errors.Is(err, fs.ErrExist) { // another process has created it
			return err
		}
	}
	return nil
}

// Users returns the bus users of a rack from the folders in dir: the controller, and the
// processes of the nodes. workers lists the nodes of each process that runs several; the
// key of the first one belongs to the process. free lists the members that are free workers:
// they may do what any node may, in any rack, and the controller's permissions then cover
// any rack. The error joins all invalid keys.
func Users(dir, rack string, free []string, workers ...[]string) ([]bus.User, error) {
	names, err := onBus(dir)
	if err != nil {
		return nil, err
	}
	grouped := map[string][]string{}
	for _, nodes := range workers {
		if grouped[nodes[0]] = nodes; !slices.Contains(names, nodes[0]) {
			names = append(names, nodes[0]) // so that the error names the missing key
		}
	}
	for _, w := range free {
		if !slices.Contains(names, w) {
			names = append(names, w)
		}
	}
	var users []bus.User
	var faults []error
	for _, name := range names {
		key, err := ReadKey(KeyPath(dir, name))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		nodes, of := grouped[name], rack
		switch {
		case slices.Contains(free, name):
			nodes, of = []string{"*"}, "*"
		case name == Controller && len(free) > 0:
			of = "*"
		case nodes == nil && name != Controller:
			nodes = []string{name}
		}
		user, err := bus.UserOf(of, key, nodes...)
		users, faults = append(users, user), append(faults, err)
	}
	return users, errors.Join(faults...)
}

// missingError describes files that are missing, as fs.ErrNotExist does, in other words.
type missingError string

func (e missingError) Error() string { return string(e) }

// Is reports whether target is fs.ErrNotExist.
func (missingError) Is(target error) bool { return target == fs.ErrNotExist }

// onBus returns the names of the members in a folder that use the bus.
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
		return nil, missingError(dir + ": not the folder of a node or of the controller")
	}
	return names, nil
}

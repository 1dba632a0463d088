package launch

import (
	"cmp"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/spawn"
)

// keys are the keys of the members of a rack on its own bus: of the controller under "",
// of each process under the name of its first node. They exist only in the memory of the launcher and of the
// process that each belongs to.
type keys map[string]bus.Key

// newKeys creates the keys of a rack, and returns the users that they belong to.
func newKeys(rack string, groups [][]topology.Node) (k keys, users []bus.User, err error) {
	k = keys{}
	for _, nodes := range append([][]topology.Node{nil}, groups...) {
		key, err := bus.NewKey()
		if err != nil {
			return nil, nil, err
		}
		names := []string{}
		for _, n := range nodes {
			names = append(names, n.Name)
		}
		user, err := bus.UserOf(rack, key, names...)
		if err != nil {
			return nil, nil, err
		}
		k[cmp.Or(append(names, "")...)], users = key, append(users, user)
	}
	return k, users, nil
}

// secrets returns the secrets of the process of a first node, or of the controller if node
// is "".
func (r *Rack) secrets(node string) spawn.Secrets {
	access := r.o.Access
	if r.keys != nil {
		access.Key = r.keys[node]
	}
	return spawn.Secrets{Access: access}
}

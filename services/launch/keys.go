package launch

import (
	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
)

// keys are the keys of a rack on its own bus. They are generated when the rack
// starts, and exist only in the memory of the launcher and of the process that each
// belongs to.
type keys struct {
	controller bus.Key
	nodes      map[string]bus.Key
	public     map[bus.Key]string
}

func newKeys(nodes []topology.Node) (*keys, error) {
	k := &keys{nodes: map[string]bus.Key{}, public: map[bus.Key]string{}}
	var err error
	if k.controller, err = k.add(); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if k.nodes[n.Name], err = k.add(); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *keys) add() (bus.Key, error) {
	key, err := bus.NewKey()
	if err != nil {
		return key, err
	}
	k.public[key], err = key.Public()
	return key, err
}

// users returns all users that may connect to the rack's bus.
func (k *keys) users(rack string) []bus.User {
	list := []bus.User{bus.ControllerUser(rack, k.public[k.controller])}
	for name, key := range k.nodes {
		list = append(list, bus.NodeUser(rack, name, k.public[key]))
	}
	return list
}

// join makes the rack use the bus that o names. It keeps the credentials off the
// command lines of the processes.
func (r *Rack) join(o Options) {
	r.access = o.Access
	url, login := bus.SplitLogin(o.Bus)
	if r.url = url; login != (bus.Login{}) {
		r.access.Login = login
	}
}

// inheritance returns the Inheritance of a node, or of the controller if node is "".
func (r *Rack) inheritance(node string) Inheritance {
	access := r.access
	switch {
	case r.keys == nil:
	case node == "":
		access.Key = r.keys.controller
	default:
		access.Key = r.keys.nodes[node]
	}
	return Inheritance{Access: access}
}

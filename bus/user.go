package bus

import "github.com/nats-io/nats-server/v2/server"

// User is a member of a rack as its bus knows it: who proves to have the key may
// publish and subscribe on the subjects that fit a pattern, and on no other.
type User struct {
	Public             string // of Key
	Publish, Subscribe []string
}

// NodeUser is a node: of every run it sends on its own links and hears the links
// that lead to it, and of the rack it says hello under its own name when asked.
// The run is left open, since one set of keys serves all runs of a rack.
func NodeUser(rack, node, public string) User {
	return User{
		Public:    public,
		Publish:   []string{outPattern("*", node), HelloSubject(rack, node)},
		Subscribe: []string{NodePattern("*", node), WhoSubject(rack)},
	}
}

// ControllerUser is the controller: it asks who is there and hears the answers,
// and no frame.
func ControllerUser(rack, public string) User {
	return User{Public: public, Publish: []string{WhoSubject(rack)}, Subscribe: []string{HelloPattern(rack)}}
}

// nkeyUsers are the users as the server takes them; none is a server for all.
func nkeyUsers(users []User) (list []*server.NkeyUser) {
	for _, u := range users {
		list = append(list, &server.NkeyUser{Nkey: u.Public, Permissions: &server.Permissions{
			Publish: only(u.Publish), Subscribe: only(u.Subscribe),
		}})
	}
	return list
}

// only allows patterns and nothing else; to the server, an empty list allows all.
func only(patterns []string) *server.SubjectPermission {
	if len(patterns) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: patterns}
}

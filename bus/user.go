package bus

import "github.com/nats-io/nats-server/v2/server"

// User is a member of a rack with its permissions on the bus. The holder of the key may
// publish and subscribe on subjects that match the patterns, and on no others.
type User struct {
	Public             string // public half of the member's Key
	Publish, Subscribe []string
}

// NodeUser returns the user of a node. In every run, it publishes on its own links and
// subscribes to the links that lead to it. In the rack, it answers queries with an
// announcement under its own name. The permissions cover all runs, because a rack has one set
// of keys for all of them.
func NodeUser(rack, node, public string) User {
	return User{
		Public:    public,
		Publish:   []string{outPattern("*", node), AnnouncementSubject(rack, node)},
		Subscribe: []string{NodePattern("*", node), QuerySubject(rack)},
	}
}

// ControllerUser returns the user of the controller. It publishes queries and receives
// announcements, but no frames.
func ControllerUser(rack, public string) User {
	return User{Public: public, Publish: []string{QuerySubject(rack)}, Subscribe: []string{AnnouncementPattern(rack)}}
}

// nkeyUsers converts users for the server. Without users the server is open to all.
func nkeyUsers(users []User) (list []*server.NkeyUser) {
	for _, u := range users {
		list = append(list, &server.NkeyUser{Nkey: u.Public, Permissions: &server.Permissions{
			Publish: only(u.Publish), Subscribe: only(u.Subscribe),
		}})
	}
	return list
}

// only allows the patterns and nothing else. The server takes an empty list as all.
func only(patterns []string) *server.SubjectPermission {
	if len(patterns) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: patterns}
}

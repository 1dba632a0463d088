package bus

import "github.com/nats-io/nats-server/v2/server"

// User is a member of a rack with its permissions on the bus. The holder of the key may
// publish and subscribe on subjects that match the patterns, and on no others.
type User struct {
	Public             string // public half of the member's Key
	Publish, Subscribe []string
}

// UserOf returns the user of the node of a rack that has a key, or of its controller if
// node is "". In every run, a node publishes on its own links and subscribes to the links
// that lead to it. In the rack, it answers queries with an announcement under its own
// name. The permissions cover all runs, because a rack has one set of keys for all of
// them. The controller publishes queries and receives announcements, but no frames.
func UserOf(rack, node string, k Key) (User, error) {
	public, err := k.Public()
	if node == "" {
		return User{public, []string{QuerySubject(rack)}, []string{AnnouncementPattern(rack)}}, err
	}
	return User{
		Public:    public,
		Publish:   []string{outPattern("*", node), AnnouncementSubject(rack, node)},
		Subscribe: []string{NodePattern("*", node), QuerySubject(rack)},
	}, err
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

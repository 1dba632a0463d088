package bus

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// User is a member of a rack with its permissions on the bus. The holder of the key may
// publish and subscribe on subjects that match the patterns, and on no others.
type User struct {
	Public             string // public half of the member's Key
	Publish, Subscribe []string
}

// UserOf returns the user of a process that runs a group of a rack's nodes and has a key,
// or of the controller if there are no nodes. In every run, a group publishes to other
// groups and subscribes to its own envelopes, under the name of its first node. In the
// rack, it answers queries with an announcement of each of its nodes, and receives those
// of other nodes of the same names. The permissions cover all runs, because a rack has one
// set of keys for all of them. The controller publishes queries and receives
// announcements, but no frames.
func UserOf(rack string, k Key, nodes ...string) (User, error) {
	public, err := k.Public()
	if len(nodes) == 0 {
		return User{public, []string{QuerySubject(rack)}, []string{AnnouncementPattern(rack)}}, err
	}
	u := User{
		Public:    public,
		Publish:   []string{outPattern("*", nodes[0])},
		Subscribe: []string{InPattern("*", nodes[0]), QuerySubject(rack)},
	}
	for _, n := range nodes {
		u.Publish = append(u.Publish, AnnouncementSubject(rack, n))
		u.Subscribe = append(u.Subscribe, AnnouncementSubject(rack, n))
	}
	return u, err
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

// UsersConfig returns the users and their permissions in the configuration language of
// nats-server, for its block "authorization". It contains no secret.
func UsersConfig(users []User) string {
	var b strings.Builder
	b.WriteString("users: [\n")
	for _, u := range nkeyUsers(users) {
		fmt.Fprintf(&b, "  {nkey: %s, permissions: {publish: %s, subscribe: %s}}\n", u.Nkey, config(u.Permissions.Publish), config(u.Permissions.Subscribe))
	}
	b.WriteString("]\n")
	return b.String()
}

// config returns a permission in the configuration language.
func config(p *server.SubjectPermission) string {
	return fmt.Sprintf("{allow: %s, deny: %s}", patterns(p.Allow), patterns(p.Deny))
}

// patterns returns a list of patterns, whose tokens need no escapes.
func patterns(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	return `["` + strings.Join(list, `", "`) + `"]`
}

// only allows the patterns and nothing else. The server takes an empty list as all.
func only(patterns []string) *server.SubjectPermission {
	if len(patterns) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: patterns}
}

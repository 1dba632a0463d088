package spawn

import (
	"testing"

	"github.com/rackfab/rackfab/identity"
)

// The error calls a process a node only if it is one, whatever its name.
func TestErrorNamesTheProcess(t *testing.T) {
	for want, e := range map[string]Error{
		"bus (process 7): exit status 1":                  {Name: identity.Bus, PID: 7, State: "exit status 1"},
		"node bus (process 7): exit status 1":             {Name: identity.Bus, Nodes: 1, PID: 7, State: "exit status 1"},
		"node h0 and 3 others (process 7): exit status 1": {Name: "h0", Nodes: 4, PID: 7, State: "exit status 1"},
		"node h0 (process 7 of worker w1 at 192.0.2.2:7000): exit status 1": {
			Name: "h0", Nodes: 1, PID: 7, State: "exit status 1", Worker: "w1 at 192.0.2.2:7000",
		},
		"node bus (process 7): exit status 1\n  bus| why": {
			Name: identity.Bus, Nodes: 1, PID: 7, State: "exit status 1", Tail: []string{"why"},
		},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

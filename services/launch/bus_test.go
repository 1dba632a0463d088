package launch

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/identity"
)

func TestBusEnv(t *testing.T) {
	tests := []struct {
		name      string
		env, want []string
	}{
		{"plain", []string{"A=b"}, []string{"GODEBUG=" + sleepless}},
		{"empty", []string{"GODEBUG="}, []string{"GODEBUG=" + sleepless}},
		{"others stay", []string{"GODEBUG=x=1", "GODEBUG=panicnil=1"}, []string{"GODEBUG=panicnil=1," + sleepless}},
		{"the user's own", []string{"GODEBUG=schedtrace=1000"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := busEnv(tt.env); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The error calls a process a node only if it is one, whatever its name.
func TestProcessErrorSaysWhatTheProcessIs(t *testing.T) {
	for want, e := range map[string]ProcessError{
		"bus (process 7): exit status 1":      {Name: identity.Bus, PID: 7, State: "exit status 1"},
		"node bus (process 7): exit status 1": {Name: identity.Bus, Node: true, PID: 7, State: "exit status 1"},
		"node bus (process 7): exit status 1\n  bus| why": {
			Name: identity.Bus, Node: true, PID: 7, State: "exit status 1", Tail: []string{"why"},
		},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package spawn

import (
	"slices"
	"testing"
)

func TestBusEnv(t *testing.T) {
	for _, tt := range []struct {
		name, godebug, runtime string
		want                   []string
	}{
		{"unset", "", "", []string{"GODEBUG=" + schedtrace}},
		{"other settings are kept", "panicnil=1", "", []string{"GODEBUG=panicnil=1," + schedtrace}},
		{"set by the user", "schedtrace=1000", "", nil},
		{"turned off", "", "plain", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("GODEBUG", tt.godebug)
			t.Setenv(runtimeVariable, tt.runtime)
			if got := BusEnv(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

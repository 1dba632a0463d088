package spawn

import (
	"runtime"
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

// Nodes spin only if there are processors for all of their processes.
func TestNodeEnv(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	for _, tt := range []struct {
		name, runtime string
		processes     int
		want          []string
	}{
		{"a processor each", "", processors, []string{runtimeVariable + "=spin"}},
		{"too few processors", "", processors + 1, nil},
		{"set by the user", "plain", processors, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(runtimeVariable, tt.runtime)
			if got := NodeEnv(tt.processes); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

package qp

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Validate reports every fault of the settings at once, with the allowed values.
func TestAllFaultsOfSettingsAreReported(t *testing.T) {
	valid := func() Settings {
		return Settings{Rate: unit.GigabitPerSec, Payload: 1000, AckEvery: 1, Notification: cc.NotifyNone, CC: cc.Default()}
	}
	s := valid()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	all := valid()
	for want, edit := range map[string]func(*Settings){
		"host -1, want 0 to":               func(s *Settings) { s.Host = -1 },
		"rate 0bps, want more than 0":      func(s *Settings) { s.Rate = 0 },
		"link overhead 2KB, want":          func(s *Settings) { s.Overhead = 2 * unit.Kilobyte },
		"payload 1.001KB, want a multiple": func(s *Settings) { s.Payload = 1001 },
		"one ACK covers 0 packets":         func(s *Settings) { s.AckEvery = 0 },
		"timeout -1ps, want 0 or more":     func(s *Settings) { s.Timeout = -1 },
		"control DSCP 64, want 0 to 63":    func(s *Settings) { s.ControlDSCP = 64 },
		"RTT probes 1ps, want 0 or":        func(s *Settings) { s.Probe = 1 },
		`RTT measurement "x", want one of`: func(s *Settings) { s.RTT = "x" },
		"clock offset -1ps, want 0 to":     func(s *Settings) { s.Clock = -1 },
		`unknown notification "y", want`:   func(s *Settings) { s.Notification = "y" },
		"burst of -1B, want 0 to 1 MB":     func(s *Settings) { s.Burst = -1 },
		"DSCP 5: class 8, want 0 to 7":     func(s *Settings) { s.DSCP[5] = fabric.Priorities },
	} {
		s := valid()
		edit(&s)
		edit(&all)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line with %q", err, want)
		}
	}
	odd := valid()
	odd.Notification, odd.Payload = cc.NotifyNSCC, 1001 // UET has no pad count
	if err := odd.Validate(); err != nil {
		t.Error(err)
	}
	if err := all.Validate(); err == nil || strings.Count(err.Error(), "\n") != 12 {
		t.Errorf("%v, want 13 lines", err)
	}
}

// The trace id of a frame has the layout of docs/wire.md: flow 2 and message 9 are the
// example there, and the flags do not touch them.
func TestTraceLayout(t *testing.T) {
	if got := Trace(2, 9); got != 0x00000003_00000009 || fabric.MessageOf(got|fabric.Closing|fabric.Followed) != got {
		t.Errorf("trace id %016x", got)
	}
	if fabric.Closing != 1<<63 || fabric.Followed != 1<<62 {
		t.Errorf("flags %016x and %016x", fabric.Closing, fabric.Followed)
	}
}

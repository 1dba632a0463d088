package controller

import (
	"testing"
	"time"
)

// A call that waits for an instant ends when the clock is halted during a grant, and so
// does one that comes later.
func TestHaltEndsWaits(t *testing.T) {
	c := newClock(100)
	c.until = 10
	c.grant(10, time.Time{})
	early := c.wait(10)
	over := func(wait <-chan struct{}) bool {
		select {
		case <-wait:
			return true
		default:
			return false
		}
	}
	if over(early) {
		t.Error("the wait ended before its instant")
	}
	c.halt()
	if !over(early) || !over(c.wait(50)) || c.moving() {
		t.Error("a wait continues on a halted clock")
	}
}

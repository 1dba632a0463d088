//go:build unix

package spawn

import (
	"syscall"
	"testing"
)

// Ctrl-C at a terminal goes to the foreground process group: children are not
// in it.
func TestChildrenHaveTheirOwnProcessGroup(t *testing.T) {
	p, err := newSpawner(t).Start(Command{Name: "wait", Role: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	group, err := syscall.Getpgid(p.PID())
	if err != nil || group != p.PID() {
		t.Errorf("process %d is in group %d, %v", p.PID(), group, err)
	}
	p.Stop(StopLimit)
	if !p.State().Success() {
		t.Errorf("ended with %v", p.State())
	}
}

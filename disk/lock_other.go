//go:build !windows

package disk

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until it is closed.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrClaimed
	}
	return err
}

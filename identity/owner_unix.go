//go:build unix

package identity

import (
	"io/fs"
	"syscall"
)

// rootOwns reports whether root owns a file.
func rootOwns(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0
}

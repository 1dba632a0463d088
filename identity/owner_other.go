//go:build !unix

package identity

import "io/fs"

// rootOwns returns false: this system has no such owner.
func rootOwns(fs.FileInfo) bool { return false }

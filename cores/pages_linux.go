package cores

import (
	"bytes"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// HugePages asks the system to back the next size bytes by which the heap grows with huge
// pages, if it has them for programs that ask ("madvise"). A rack of a thousand nodes
// has its state on more small pages than the processor's translation buffers hold. No
// memory is used before the heap needs it. Size is a guess: a heap that grows further gets
// small pages.
func HugePages(size int) {
	mode, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if size < unix.Getpagesize() || !bytes.Contains(mode, []byte("[madvise]")) {
		return
	}
	// The advice stays with the addresses after the slice is gone. It fails only on
	// kernels without huge pages.
	_ = unix.Madvise(make([]byte, size), unix.MADV_HUGEPAGE)
	runtime.GC()
}

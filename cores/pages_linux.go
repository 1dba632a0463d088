package cores

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// piece is the size of the slices that HugePages advises, in bytes. A slice that begins in memory
// of which the heap has used a part is cleared, and then is resident, so one slice for all
// would at times cost its whole size.
const piece = 4 << 20

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
	// The advice stays with the addresses after the pieces are gone. It fails only on kernels
	// without huge pages.
	percent := debug.SetGCPercent(-1)
	pieces := make([][]byte, (size+piece-1)/piece)
	for i := range pieces {
		pieces[i] = make([]byte, piece)
		_ = unix.Madvise(pieces[i], unix.MADV_HUGEPAGE)
	}
	debug.SetGCPercent(percent)
	runtime.GC()
}

package cores

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// Memory that the heap takes after HugePages lies at addresses with the advice ("hg").
func TestHeapGrowsIntoHugePages(t *testing.T) {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !strings.Contains(string(mode), "[madvise]") {
		t.Skipf("huge pages are not given on advice: %q, %v", mode, err)
	}
	HugePages(128 << 20)
	grown := make([]byte, 96<<20)
	at := uint64(uintptr(unsafe.Pointer(&grown[len(grown)/2])))
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	var from, to uint64
	for line := range strings.Lines(string(maps)) {
		if a, b := uint64(0), uint64(0); strings.Contains(line, "-") {
			if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &b); n == 2 {
				from, to = a, b
			}
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && from <= at && at < to {
			if !strings.Contains(flags, " hg") {
				t.Errorf("memory at %x, mapped at %x-%x with flags%s, has no huge pages", at, from, to, flags)
			}
			return
		}
	}
	t.Fatalf("no mapping at %x", at)
}

// HugePages uses no memory, also if the end of the heap was used before and is free.
func TestHugePagesAreNotTouched(t *testing.T) {
	used := make([]byte, 64<<20)
	for i := range used {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	runtime.GC()
	before := resident(t)
	HugePages(512 << 20)
	if more := resident(t) - before; more > 64<<20 {
		t.Errorf("%d MB more are resident, want at most 64", more>>20)
	}
}

// resident returns the resident memory of this process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

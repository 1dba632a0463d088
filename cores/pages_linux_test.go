package cores

import (
	"fmt"
	"os"
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

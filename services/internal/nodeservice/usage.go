package nodeservice

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// usage is what this process has used of its machine so far.
type usage struct {
	cpu     time.Duration // user and system
	rss     int64         // largest resident set in bytes, 0 if unknown
	program int64         // of that, pages of files: the program, which all processes share
}

// used asks the system. The resident set comes from /proc: getrusage(2) counts
// the memory of the process that started this one in.
func used() (u usage) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return u
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), ":")
		var kb int64
		if _, err := fmt.Sscanf(text, "%d kB", &kb); err != nil {
			continue
		}
		switch name {
		case "VmHWM":
			u.rss = kb << 10
		case "RssFile":
			u.program = kb << 10
		}
	}
	return u
}

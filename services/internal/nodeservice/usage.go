package nodeservice

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rackfab/rackfab/services/internal/runner"
)

// usage is the resource usage of this process so far.
type usage struct {
	cpu     time.Duration // user and system
	rss     int64         // largest resident set in bytes, 0 if unknown
	program int64         // of that, mapped from files: the program, which all processes share
}

// used returns the current usage. The resident set comes from /proc, because
// getrusage(2) includes the memory of the process that started this one. It is
// unknown on systems without /proc.
func used() usage {
	u := usage{cpu: runner.CPUTime()}
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

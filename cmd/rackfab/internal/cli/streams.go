package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/report/table"
)

// Streams makes a command print to standard output and standard error. If either is a pipe whose
// reader has ended, as in `rackfab run | head`, the command goes on and its output is discarded.
func Streams(c *cobra.Command) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // so that writes return an error, and do not end the process
	for _, s := range []struct {
		file *os.File
		set  func(io.Writer)
	}{{os.Stdout, c.SetOut}, {os.Stderr, c.SetErr}} {
		if s.set(s.file); !table.IsTerminal(s.file) {
			s.set(Unread{s.file})
		}
	}
}

// Unread is a stream that discards output after its reader has ended.
type Unread struct{ To io.Writer }

// Write writes b. It returns the errors of writing other than that of a closed pipe.
func (u Unread) Write(b []byte) (int, error) {
	n, err := u.To.Write(b)
	if isClosed(err) {
		return len(b), nil
	}
	return n, err
}

// Endless returns standard output for a command that prints until it is interrupted. After the reader has
// ended, a write returns an error, with which the command ends; Outcome does not count it as a failure.
func Endless(c *cobra.Command) io.Writer {
	if u, ok := c.OutOrStdout().(Unread); ok {
		return endless(u)
	}
	return c.OutOrStdout()
}

// endless is a stream that returns errUnread after its reader has ended.
type endless Unread

var errUnread = errors.New("nobody reads the output any more")

// Write writes b.
func (e endless) Write(b []byte) (int, error) {
	n, err := e.To.Write(b)
	if isClosed(err) {
		err = errUnread
	}
	return n, err
}

// isClosed reports whether an error is that of writing to a pipe without a reader.
func isClosed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, noData))
}

// Errors of Windows that package syscall names on Windows only.
const (
	brokenPipe = syscall.Errno(109) // ERROR_BROKEN_PIPE
	noData     = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed
)

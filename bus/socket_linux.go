package bus

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// runtimeVariable is the environment variable that turns raw system calls off if its value
// is "plain", and spinning on if it is "spin" (docs/adr/009).
const runtimeVariable = "RACKFAB_RUNTIME"

// spin is how long a read looks for data before it sleeps, if spinning is on. Waking an idle
// core of a virtual machine takes 30 to 100 us.
const spin = 200 * time.Microsecond

// busy is the least time for which the scheduler has run other goroutines, if there were
// any to run.
const busy = 2 * time.Microsecond

// Other processes need the processor if a look takes crowded, more than an answer of the bus
// takes. Reads then sleep for calm: who sleeps is scheduled soon when it wakes up, who spins
// waits for its turn.
const (
	crowded = time.Millisecond
	calm    = 200 * time.Millisecond
)

// socket is a TCP connection that reads and writes by raw system calls. The calls
// never block, because the socket is non-blocking. The Go scheduler does not see them
// and need not wake its monitor thread each time. This saves a quarter of a run's CPU
// time (docs/adr/009).
type socket struct {
	*net.TCPConn
	in, out transfer
}

// transfer is one direction of a socket, used by one goroutine at a time.
type transfer struct {
	wait func(step func(fd uintptr) bool) error // waits until the socket is ready, then calls step
	step func(fd uintptr) bool
	call uintptr // SYS_READ or SYS_WRITE
	spin time.Duration
	rest time.Time // until which no read spins
	buf  []byte
	n    int
	err  syscall.Errno
}

// newSocket wraps c, or returns c itself if it is not a TCP connection or raw system
// calls are turned off.
func newSocket(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok || os.Getenv(runtimeVariable) == "plain" {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	s := &socket{TCPConn: t}
	s.in = transfer{wait: raw.Read, call: syscall.SYS_READ}
	s.out = transfer{wait: raw.Write, call: syscall.SYS_WRITE}
	if os.Getenv(runtimeVariable) == "spin" {
		s.in.spin = spin
	}
	s.in.step, s.out.step = s.in.try, s.out.try
	return s
}

// try makes the call, and again while it spins. It returns false if the socket is not
// ready.
func (t *transfer) try(fd uintptr) bool {
	if t.once(fd) {
		return true
	}
	if t.spin == 0 {
		return false
	}
	start := time.Now()
	for now := start; now.Sub(start) < t.spin && now.After(t.rest); {
		runtime.Gosched()
		worked := time.Now()
		if worked.Sub(now) > busy {
			start = worked // the process had work to do
		}
		if t.once(fd) {
			return true
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) // to the bus, if it has no core
		if now = time.Now(); now.Sub(worked) > crowded {
			t.rest = now.Add(calm)
		}
	}
	return false
}

// once makes the call once. It returns false if the socket is not ready.
func (t *transfer) once(fd uintptr) bool {
	for {
		n, _, err := syscall.RawSyscall(t.call, fd, uintptr(unsafe.Pointer(&t.buf[0])), uintptr(len(t.buf)))
		if err != syscall.EINTR {
			t.n, t.err = int(n), err
			return err != syscall.EAGAIN
		}
	}
}

// move makes one call with b once the socket is ready.
func (t *transfer) move(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	t.buf = b
	err := t.wait(t.step)
	t.buf = nil
	if err != nil {
		return 0, err
	}
	if t.err != 0 {
		return 0, os.NewSyscallError("socket", t.err)
	}
	return t.n, nil
}

// Read reads the available bytes, at least one.
func (s *socket) Read(b []byte) (int, error) {
	n, err := s.in.move(b)
	if n == 0 && err == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// Write writes all of b.
func (s *socket) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		n, err := s.out.move(b[done:])
		if err != nil {
			return done, err
		}
		done += n
	}
	return len(b), nil
}

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lan is a network of machines: network namespaces, each with one TAP interface, and
// this process as the switch between them, which delivers every frame after a delay. The
// kernel's netem would do the same, but is missing from many kernels.
type lan struct {
	delay time.Duration
	ports []*port
}

// port is the interface of a machine.
type port struct {
	namespace string
	tap       *os.File
	out       chan delayed // frames to the machine
}

// delayed is a frame with the time of its delivery.
type delayed struct {
	due   time.Time
	frame []byte
}

// Limits of a lan.
const (
	maxFrame  = 1514
	lanBuffer = 16384 // frames under way to a machine; the switch drops more, and TCP sends them again
)

// newLAN creates a network of n machines with the addresses of host, which ends with the
// test. It skips the test if this machine does not permit that.
func newLAN(t *testing.T, n int, delay time.Duration) *lan {
	t.Helper()
	installed(t, "apt-get install iproute2", "ip")
	if os.Geteuid() != 0 {
		lacking(t, "network namespaces need root")
	}
	l := &lan{delay: delay}
	for i := range n {
		l.ports = append(l.ports, l.plug(t, i))
	}
	for i := range n {
		go l.forward(i)
		go l.ports[i].deliver(t.Context())
	}
	return l
}

// host returns the address of machine i.
func (l *lan) host(i int) string { return fmt.Sprintf("192.0.2.%d", i+1) }

// plug creates machine i.
func (l *lan) plug(t *testing.T, i int) *port {
	t.Helper()
	name := fmt.Sprintf("rf%d-%d", os.Getpid(), i)
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		lacking(t, "ip netns add: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
			t.Errorf("ip netns delete %s: %v: %s", name, err, out)
		}
	})
	tap := openTAP(t, name)
	t.Cleanup(func() { _ = tap.Close() })
	must(t, exec.Command("ip", "link", "set", name, "netns", name))
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "set", name, "address", fmt.Sprintf("02:00:00:00:00:%02x", i)},
		{"address", "add", l.host(i) + "/24", "dev", name},
		{"link", "set", name, "up"},
	} {
		must(t, exec.Command("ip", append([]string{"-n", name}, args...)...))
	}
	return &port{namespace: name, tap: tap, out: make(chan delayed, lanBuffer)}
}

// openTAP creates a TAP interface.
func openTAP(t *testing.T, name string) *os.File {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		lacking(t, "/dev/net/tun: %v", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		lacking(t, "create a TAP interface: %v", err)
	}
	return os.NewFile(uintptr(fd), name)
}

// forward switches the frames of machine i until its interface is closed: to the machine
// in the last byte of the destination's address, or to all others.
func (l *lan) forward(i int) {
	for {
		frame := make([]byte, maxFrame)
		n, err := l.ports[i].tap.Read(frame)
		if err != nil {
			return
		}
		f := delayed{time.Now().Add(l.delay), frame[:n]}
		for j, p := range l.ports {
			if j == i || frame[0] == 2 && int(frame[5]) != j {
				continue
			}
			select {
			case p.out <- f:
			default:
			}
		}
	}
}

// deliver sends frames to the machine when they are due, until the test ends.
func (p *port) deliver(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-p.out:
			wait.Reset(time.Until(f.due))
			<-wait.C
			if _, err := p.tap.Write(f.frame); err != nil {
				return
			}
		}
	}
}

// in returns a command of this program in machine i.
func (l *lan) in(i int, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", l.ports[i].namespace, program}, args...)...)
}

// get returns the answer to an HTTP request in machine i.
func (l *lan) get(t *testing.T, i int, url string) string {
	t.Helper()
	dial := func(_ context.Context, network, address string) (c net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // the thread, which is in the namespace, ends with the goroutine
			if err = enter(l.ports[i].namespace); err == nil {
				c, err = net.Dial(network, address)
			}
		}()
		<-done
		return c, err
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// enter moves the calling thread into a network namespace.
func enter(namespace string) error {
	f, err := os.Open("/var/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
}

package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackfab/rackfab/services/internal/serve"
)

// StopLimit is the time that a child has to end after it was stopped. Then the
// launcher kills it.
const StopLimit = exitLimit + time.Second

// Error describes the unexpected end of a process.
type Error struct {
	Name  string // the name of its first node, or "bus" or "controller"
	Nodes int    // number of its nodes, 0 if it runs none
	PID   int
	State string   // "signal: killed", "exit status 1"
	Tail  []string // the last lines of its log
	// Worker is the worker that ran it, with its address; "" is this machine.
	Worker string
}

// Error names the process, says how it ended and shows the end of its log.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Nodes > 0 {
		b.WriteString("node ")
	}
	b.WriteString(e.Name)
	if e.Nodes > 1 {
		fmt.Fprintf(&b, " and %d others", e.Nodes-1)
	}
	at := ""
	if e.Worker != "" {
		at = " of worker " + e.Worker
	}
	fmt.Fprintf(&b, " (process %d%s): %s", e.PID, at, e.State)
	for _, line := range e.Tail {
		fmt.Fprintf(&b, "\n  %s| %s", e.Name, line)
	}
	return b.String()
}

// Process is a running child.
type Process struct {
	name  string
	nodes int
	cmd   *exec.Cmd
	input io.Closer // closed to stop the child
	tail  tail
	ready chan serve.Ready // one value, from the first line of standard output
	done  chan struct{}    // closed when the child has ended and its log is read
}

// Command describes a process to start.
type Command struct {
	Name    string
	Nodes   int      // number of its nodes
	Role    string   // the program's command
	Args    []string // of the role
	Env     []string // "key=value", in addition to that of the spawner
	Secrets Secrets
}

// Start starts the program as c describes.
func (s *Spawner) Start(c Command) (*Process, error) {
	args := append([]string{c.Role}, c.Args...)
	if s.o.TLS != "" {
		args = append(args, "--tls", s.o.TLS)
	}
	p := &Process{
		name:  c.Name,
		nodes: c.Nodes,
		cmd:   exec.Command(s.o.Path, args...),
		ready: make(chan serve.Ready, 1),
		done:  make(chan struct{}),
	}
	p.cmd.SysProcAttr = attributes()
	p.cmd.Env = slices.Concat(os.Environ(), s.o.Env, c.Env, []string{parentVariable + "=stdin"})
	input, err1 := p.cmd.StdinPipe()
	output, err2 := p.cmd.StdoutPipe()
	log, err3 := p.cmd.StderrPipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		err = s.do(p.cmd.Start)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p.input = input
	go func() { _ = c.Secrets.write(input) }() // a child that cannot read it ends with an error by itself
	go p.watch(output, log, &s.log)
	return p, nil
}

// watch reads the child's output and log until the child ends.
func (p *Process) watch(output, log io.Reader, l *logWriter) {
	defer close(p.done)
	keep := func(line string) {
		p.tail.add(line)
		l.line(p.name, line)
	}
	var both sync.WaitGroup
	both.Go(func() {
		first := true
		eachLine(output, func(line string) {
			var ready serve.Ready
			if first && json.Unmarshal([]byte(line), &ready) == nil {
				p.ready <- ready
			} else {
				keep(line)
			}
			first = false
		})
	})
	both.Go(func() { eachLine(log, keep) })
	both.Wait()
	_ = p.cmd.Wait() // ProcessState has more detail than the error
}

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

// PID returns the number of the process on this machine.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// State returns the exit state of a process that has ended, nil before.
func (p *Process) State() *os.ProcessState {
	select {
	case <-p.done:
		return p.cmd.ProcessState
	default:
		return nil
	}
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Await waits until the child is ready and returns its announcement. Otherwise it returns
// an *Error.
func (p *Process) Await(ctx context.Context) (serve.Ready, error) {
	select {
	case ready := <-p.ready:
		return ready, nil
	case <-p.done:
		return serve.Ready{}, p.Failure("")
	case <-ctx.Done():
		return serve.Ready{}, p.Failure("not ready: " + context.Cause(ctx).Error())
	}
}

// Failure returns an error that describes the process and its state. If state is "",
// Failure waits for the end of the process and uses its exit state.
func (p *Process) Failure(state string) *Error {
	if state == "" {
		<-p.done
		state = p.cmd.ProcessState.String()
	}
	return &Error{Name: p.name, Nodes: p.nodes, PID: p.cmd.Process.Pid, State: state, Tail: p.tail.last()}
}

// Kill kills the child.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Signal sends a signal to the child. The error is os.ErrProcessDone if it has ended.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop stops the child, and kills it if it does not end within limit.
func (p *Process) Stop(limit time.Duration) {
	_ = p.input.Close()
	hard := time.AfterFunc(limit, func() { _ = p.cmd.Process.Kill() })
	defer hard.Stop()
	<-p.done
}

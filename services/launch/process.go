package launch

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

// stopLimit is the time that a child has to end after it was stopped. Then the
// launcher kills it.
const stopLimit = exitLimit + time.Second

// ProcessError describes the unexpected end of a process of the rack.
type ProcessError struct {
	Name  string // the name of its first node, or "bus" or "controller"
	Nodes int    // number of its nodes, 0 if it runs none
	PID   int
	State string   // "signal: killed", "exit status 1"
	Tail  []string // the last lines of its log
}

// Error names the process, says how it ended and shows the end of its log.
func (e *ProcessError) Error() string {
	var b strings.Builder
	if e.Nodes > 0 {
		b.WriteString("node ")
	}
	b.WriteString(e.Name)
	if e.Nodes > 1 {
		fmt.Fprintf(&b, " and %d others", e.Nodes-1)
	}
	fmt.Fprintf(&b, " (process %d): %s", e.PID, e.State)
	for _, line := range e.Tail {
		fmt.Fprintf(&b, "\n  %s| %s", e.Name, line)
	}
	return b.String()
}

// process is a running child.
type process struct {
	name  string
	nodes int
	cmd   *exec.Cmd
	input io.Closer // closed to stop the child
	tail  tail
	ready chan serve.Ready // one value, from the first line of standard output
	done  chan struct{}    // closed when the child has ended and its log is read
}

// child describes a process to start.
type child struct {
	name  string
	nodes int      // number of its nodes
	env   []string // in addition to the rack's
	Secrets
}

// spawn starts the program in a role as the given child.
func (r *Rack) spawn(c child, role string, args ...string) (*process, error) {
	args = append([]string{role}, args...)
	if r.o.TLS != "" {
		args = append(args, "--tls", r.o.TLS)
	}
	p := &process{
		name:  c.name,
		nodes: c.nodes,
		cmd:   exec.Command(r.o.Path, args...),
		ready: make(chan serve.Ready, 1),
		done:  make(chan struct{}),
	}
	p.cmd.SysProcAttr = attributes()
	p.cmd.Env = slices.Concat(os.Environ(), r.o.Env, c.env, []string{parentVariable + "=stdin"})
	input, err1 := p.cmd.StdinPipe()
	output, err2 := p.cmd.StdoutPipe()
	log, err3 := p.cmd.StderrPipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		err = r.spawner.do(p.cmd.Start)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	p.input = input
	go func() { _ = c.write(input) }() // a child that cannot read it ends with an error by itself
	go p.watch(output, log, &r.log)
	return p, nil
}

// watch reads the child's output and log until the child ends.
func (p *process) watch(output, log io.Reader, l *logWriter) {
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

// await waits until the child is ready and returns its announcement.
func (p *process) await(ctx context.Context) (serve.Ready, error) {
	select {
	case ready := <-p.ready:
		return ready, nil
	case <-p.done:
		return serve.Ready{}, p.failure("")
	case <-ctx.Done():
		return serve.Ready{}, p.failure("not ready: " + context.Cause(ctx).Error())
	}
}

// failure returns an error that describes the process and its state. If state is "",
// failure waits for the end of the process and uses its exit state.
func (p *process) failure(state string) *ProcessError {
	if state == "" {
		<-p.done
		state = p.cmd.ProcessState.String()
	}
	return &ProcessError{Name: p.name, Nodes: p.nodes, PID: p.cmd.Process.Pid, State: state, Tail: p.tail.last()}
}

// stop stops the child, and kills it if it does not end within limit.
func (p *process) stop(limit time.Duration) {
	_ = p.input.Close()
	hard := time.AfterFunc(limit, func() { _ = p.cmd.Process.Kill() })
	defer hard.Stop()
	<-p.done
}

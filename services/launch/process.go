package launch

import (
	"context"
	"encoding/json"
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

// stopLimit is how long a child has to end after it was told to stop; it is
// killed then.
const stopLimit = exitLimit + time.Second

// ProcessError says how a process of the rack ended that should not have.
type ProcessError struct {
	Name  string // the node's name, or "bus" or "controller"
	Node  bool   // whether it is a node
	PID   int
	State string   // "signal: killed", "exit status 1"
	Tail  []string // the last lines of its log
}

// Error names the process, says how it ended and shows the end of its log.
func (e *ProcessError) Error() string {
	var b strings.Builder
	if e.Node {
		b.WriteString("node ")
	}
	fmt.Fprintf(&b, "%s (process %d): %s", e.Name, e.PID, e.State)
	for _, line := range e.Tail {
		fmt.Fprintf(&b, "\n  %s| %s", e.Name, line)
	}
	return b.String()
}

// process is a running child.
type process struct {
	name  string
	node  bool
	cmd   *exec.Cmd
	input io.Closer // closed to say stop
	tail  tail
	ready chan serve.Ready // one value, from the first line of standard output
	done  chan struct{}    // closed when the child is gone and its log is in
}

// child is what a process is started as.
type child struct {
	name string
	node bool     // whether it is a node
	env  []string // on top of the rack's
	Inheritance
}

// spawn starts args as that child.
func (r *Rack) spawn(as child, args ...string) (*process, error) {
	name := as.name
	p := &process{
		name:  name,
		node:  as.node,
		cmd:   exec.Command(r.path, args...),
		ready: make(chan serve.Ready, 1),
		done:  make(chan struct{}),
	}
	p.cmd.SysProcAttr = attributes()
	p.cmd.Env = slices.Concat(os.Environ(), r.env, as.env, []string{parentVariable + "=stdin"})
	input, err1 := p.cmd.StdinPipe()
	output, err2 := p.cmd.StdoutPipe()
	log, err3 := p.cmd.StderrPipe()
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
	}
	p.input = input
	if err := r.spawner.do(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { _ = as.write(input) }() // a child that does not take it in ends in error by itself
	go p.watch(output, log, &r.journal)
	return p, nil
}

// watch reads what the child says until it ends.
func (p *process) watch(output, log io.Reader, j *journal) {
	defer close(p.done)
	keep := func(line string) {
		p.tail.add(line)
		j.line(p.name, line)
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
	_ = p.cmd.Wait() // the state tells more
}

// await gives what the child says about itself once it is ready.
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

// failure describes the process as the reason of a failure; state "" is how it
// ended, and waits for the end.
func (p *process) failure(state string) *ProcessError {
	if state == "" {
		<-p.done
		state = p.cmd.ProcessState.String()
	}
	return &ProcessError{Name: p.name, Node: p.node, PID: p.cmd.Process.Pid, State: state, Tail: p.tail.last()}
}

// stop tells the child to end, and kills it if it does not within limit.
func (p *process) stop(limit time.Duration) {
	_ = p.input.Close()
	hard := time.AfterFunc(limit, func() { _ = p.cmd.Process.Kill() })
	defer hard.Stop()
	<-p.done
}

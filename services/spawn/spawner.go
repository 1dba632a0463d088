package spawn

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// Options configure a Spawner.
type Options struct {
	Path string    // of the program; "" for this one
	TLS  string    // folder of certificates, which all children get as --tls; "" for plain TCP
	Env  []string  // "key=value", in addition to this process's environment
	Log  io.Writer // receives the logs of the children, line by line; may be nil
}

// Spawner starts processes from one operating-system thread that exists until Close.
// With PR_SET_PDEATHSIG (prctl(2)), Linux kills a child when the thread that started
// it ends, so that thread must not depend on the lifetime of goroutines. It ends with
// the whole process at the latest, however the process ends.
type Spawner struct {
	o    Options
	log  logWriter
	jobs chan func()
	once sync.Once
}

// New returns a Spawner without children.
func New(o Options) (*Spawner, error) {
	if o.Path == "" {
		var err error
		if o.Path, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("path of this program: %w", err)
		}
	}
	s := &Spawner{o: o, log: logWriter{w: o.Log}, jobs: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for job := range s.jobs {
			job()
		}
	}()
	return s, nil
}

// Log writes a line to the log, in the name of a process.
func (s *Spawner) Log(name, text string) { s.log.line(name, text) }

// do runs start on the thread and returns its error.
func (s *Spawner) do(start func() error) error {
	result := make(chan error, 1)
	s.jobs <- func() { result <- start() }
	return <-result
}

// Close ends the thread. On Linux, this kills all remaining children.
func (s *Spawner) Close() { s.once.Do(func() { close(s.jobs) }) }

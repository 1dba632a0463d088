package launch

import (
	"runtime"
	"sync"
)

// spawner starts processes from one operating-system thread that exists until close.
// With PR_SET_PDEATHSIG (prctl(2)), Linux kills a child when the thread that started
// it ends, so that thread must not depend on the lifetime of goroutines. It ends with
// the whole process at the latest, however the process ends.
type spawner struct {
	jobs chan func()
	once sync.Once
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// do runs start on the thread and returns its error.
func (s *spawner) do(start func() error) error {
	result := make(chan error, 1)
	s.jobs <- func() { result <- start() }
	return <-result
}

// close ends the thread. On Linux, this kills all remaining children.
func (s *spawner) close() { s.once.Do(func() { close(s.jobs) }) }

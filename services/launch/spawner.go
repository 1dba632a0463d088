package launch

import (
	"runtime"
	"sync"
)

// spawner starts processes from one operating-system thread that lives until
// close. Linux kills a child whose parent asked for it when the thread that
// started the child ends (prctl(2), PR_SET_PDEATHSIG), so that thread must not
// come and go with goroutines. It ends with the whole process at the latest,
// however that dies.
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

// do runs start on the thread and gives its error.
func (s *spawner) do(start func() error) error {
	result := make(chan error, 1)
	s.jobs <- func() { result <- start() }
	return <-result
}

// close ends the thread; on Linux, children that still live are killed.
func (s *spawner) close() { s.once.Do(func() { close(s.jobs) }) }

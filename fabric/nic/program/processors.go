package program

import (
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// processors run the calculations of a host.
type processors struct {
	due    agenda.Agenda // end of the calculation, by processor
	queues []ring.Ring[job]
}

type job struct {
	step int32
	time unit.Time
}

// newProcessors returns the processors that the program uses.
func newProcessors(p *Program) processors {
	n := 0
	for i := range p.steps {
		if s := &p.steps[i]; s.Kind == Calc {
			n = max(n, int(s.Processor)+1)
		}
	}
	return processors{due: agenda.New(n), queues: make([]ring.Ring[job], n)}
}

// next returns the instant at which a calculation ends next, Never if none runs.
func (p *processors) next() unit.Time { return p.due.Next() }

// idle reports whether the processor of a step runs nothing.
func (p *processors) idle(s *Step) bool { return p.queues[s.Processor].Len() == 0 }

// add lets the processor of a step run it when it has run those before.
func (p *processors) add(now unit.Time, i int, s *Step) {
	if p.idle(s) {
		p.due.Set(int(s.Processor), now+unit.Time(s.Amount))
	}
	p.queues[s.Processor].Push(job{int32(i), unit.Time(s.Amount)})
}

// end ends a calculation that is due and returns its step. Its processor begins the next one.
func (p *processors) end(now unit.Time) int {
	i, _ := p.due.First()
	q := &p.queues[i]
	c := q.Pop()
	p.due.Set(i, unit.Never)
	if q.Len() > 0 {
		p.due.Set(i, now+q.Front().time)
	}
	return int(c.step)
}

package explain

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// criticalPath finds the messages that a collective waited for, one after the other.
type criticalPath struct {
	s      *topology.Scenario
	of     *topology.Collective
	ranks  []rankSteps // by rank
	sender []stepAt    // of each message, by its tag from the collective's first one on
}

// rankSteps is the part of one rank, and the times of all steps of its host.
type rankSteps struct {
	*topology.HostSteps
	topology.Share
	times []measure.StepTime
}

// stepAt is a step of a rank.
type stepAt struct{ rank, step int32 }

// pathMessage is a message of the critical path: from the begin of the step that sends it to its end.
type pathMessage struct {
	stepAt     // sends the message
	trace      uint64
	to         int32 // rank
	size       unit.Bytes
	begin, end unit.Time
}

type messagePath []pathMessage

func newCriticalPath(s *topology.Scenario, index int, nodes []*measure.NodeResult) *criticalPath {
	c := &s.Collectives[index]
	p := &criticalPath{s: s, of: c, ranks: make([]rankSteps, c.Ranks), sender: make([]stepAt, c.Messages())}
	for i := range s.Steps {
		h := &s.Steps[i]
		at := slices.IndexFunc(h.Shares, func(share topology.Share) bool { return share.Collective == index })
		if at < 0 {
			continue
		}
		share := h.Shares[at]
		times := nodes[h.Node].Steps
		if times == nil { // no step of the host is done
			times = make([]measure.StepTime, h.Len())
		}
		p.ranks[share.Rank] = rankSteps{h, share, times}
		for k := share.First; k < share.End; k++ {
			if step := h.At(k); step.Kind == program.Send {
				p.sender[step.Tag-c.Tag] = stepAt{int32(share.Rank), int32(k)}
			}
		}
	}
	return p
}

// walk returns the critical path: from the step that ended last, or the message that has been on its way for the
// longest time at the end of the run, back to a step that waited for none of the collective.
func (p *criticalPath) walk() (path messagePath) {
	at, ok := p.oldest()
	if ok {
		path = append(path, p.message(at, p.s.Duration))
		at, ok = p.before(at)
	} else {
		at, ok = p.last()
	}
	for ok {
		r := &p.ranks[at.rank]
		step, t := r.At(int(at.step)), r.times[at.step]
		switch {
		case step.Kind == program.Send:
			path = append(path, p.message(at, t.End))
		case step.Kind == program.Receive && t.End > t.Begun: // it waited for the message
			from := p.sender[step.Tag-p.of.Tag]
			path = append(path, p.message(from, t.End))
			at = from
		}
		at, ok = p.before(at)
	}
	slices.Reverse(path)
	return path
}

// oldest returns the step that sent the message which has been on its way for the longest time. It returns false
// if all messages are acknowledged, or none has been sent.
func (p *criticalPath) oldest() (oldest stepAt, ok bool) {
	begin := p.s.Duration
	for _, at := range p.sender {
		r := &p.ranks[at.rank]
		if r.times[at.step].Done || !r.ready(int(at.step)) {
			continue
		}
		if t := r.begun(int(at.step)); t < begin {
			oldest, begin, ok = at, t, true
		}
	}
	return oldest, ok
}

// ready reports whether a step has begun.
func (r *rankSteps) ready(step int) bool {
	for _, c := range r.Conditions(step) {
		if !r.times[c.Step()].Done {
			return false
		}
	}
	return true
}

// last returns the step that ended last, that of the lowest rank if there are several.
func (p *criticalPath) last() (last stepAt, ok bool) {
	end := unit.Time(-1)
	for rank := range p.ranks {
		r := &p.ranks[rank]
		for k := r.First; k < r.End; k++ {
			if t := r.times[k]; t.Done && t.End > end {
				last, end, ok = stepAt{int32(rank), int32(k)}, t.End, true
			}
		}
	}
	return last, ok
}

// before returns the step of the collective that a step waited for last. It returns false if there is
// none.
func (p *criticalPath) before(at stepAt) (before stepAt, ok bool) {
	r := &p.ranks[at.rank]
	end := unit.Time(-1)
	for _, c := range r.Conditions(int(at.step)) {
		if t := r.times[c.Step()]; c.Step() >= r.First && c.Step() < r.End && t.End > end {
			before, end, ok = stepAt{at.rank, int32(c.Step())}, t.End, true
		}
	}
	return before, ok
}

// message returns the message that a step sends and that ends at an instant.
func (p *criticalPath) message(at stepAt, end unit.Time) pathMessage {
	r := &p.ranks[at.rank]
	step := r.At(int(at.step))
	return pathMessage{
		stepAt: at, trace: qp.Trace(step.Flow, int64(at.step)), to: int32(slices.Index(p.of.Nodes, int(step.Peer))),
		size: unit.Bytes(step.Amount), begin: r.begun(int(at.step)), end: end,
	}
}

// begun returns when a step began. One that is not done began when those that it waited for ended.
func (r *rankSteps) begun(step int) (at unit.Time) {
	if r.times[step].Done {
		return r.times[step].Begun
	}
	for _, c := range r.Conditions(step) {
		at = max(at, r.times[c.Step()].End)
	}
	return at
}

// messages returns the messages as the report has them.
func (p messagePath) messages() []PathMessage {
	list := make([]PathMessage, len(p))
	for i, m := range p {
		list[i] = PathMessage{From: int(m.rank), To: int(m.to), Size: m.size, Begin: m.begin, End: m.end}
	}
	return list
}

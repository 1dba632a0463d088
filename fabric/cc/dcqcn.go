package cc

import "github.com/rackfab/rackfab/fabric/unit"

// DCQCN is the reaction point of one flow: Zhu, Eran, Firestone, Guo,
// Lipshteyn, Liron, Padhye, Raindel, Yahia, Zhang, "Congestion Control for
// Large-Scale RDMA Deployments", SIGCOMM'15, §3.1:
//
//	CNP               target := rate                        eq. 1
//	                  rate := rate·(1 - alpha/2)
//	                  alpha := (1 - g)·alpha + g
//	K without a CNP   alpha := (1 - g)·alpha                eq. 2
//
// The rate increases again as described at increase (eq. 3 and 4). A flow
// begins at line rate, and the counters do not run until its first CNP. Sums
// and products are converted one by one, so that results are identical on every
// machine.
//
// Invariant: 0 <= alpha <= 1.
type DCQCN struct {
	increase
	marks
}

// NewDCQCN returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. p must be valid and of the paper's kind: its
// CutPeriod is 0.
func NewDCQCN(p DCQCNParams, line, initial unit.Rate) *DCQCN {
	ai, hai := p.steps(line)
	return &DCQCN{
		increase: newIncrease(stages{
			bytes: p.ByteCounter, timer: p.Timer, threshold: p.Threshold, ai: ai, hai: hai,
		}, newPace(line, initial, p.MinRate)),
		marks: newMarks(p),
	}
}

// Handle reacts to CNPs and counts the bytes sent.
func (c *DCQCN) Handle(now unit.Time, s Signal) {
	switch {
	case s.Kind == CNP && s.Marked:
		c.cut(now)
	case s.Kind == Sent:
		c.sent(s.Bytes)
	}
}

// cut applies equation 1.
func (c *DCQCN) cut(now unit.Time) {
	c.target = c.rate
	c.lower(c.rate * (1 - c.marks.cut(now)))
	c.restart(now)
}

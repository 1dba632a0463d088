package switching

// npecn is the congestion point of PCN for one egress queue (Cheng et al., NSDI
// 2020, §5.1 and fig. 7): ECN that does not mark what a pause has piled up. It
// is one counter, PN, of the frames that the last pause left waiting.
//
//	                    +-----------------+
//	     +------------> |      PAUSE      | <------------+
//	     |              | nothing is sent |              |
//	     |              +-----------------+              |
//	     | PAUSE                 | RESUME: PN :=         | PAUSE
//	     |                       | frames waiting        |
//	+-----------------+          v               +----------------+
//	|     PN = 0      |     PN reaches 0         |     PN > 0     |
//	| send; mark iff  | <----------------------- | send; no mark; |
//	| queue was there |                          |      PN--      |
//	+-----------------+                          +----------------+
//
// A RESUME that finds nothing waiting leads to PN = 0 at once. A PAUSE while PN
// is above 0 makes no difference: the next RESUME samples afresh.
type npecn struct {
	paused int // PN
}

// resume samples the frames that wait at RESUME. The frame in serialisation is
// not one of them.
func (n *npecn) resume(waiting int) { n.paused = waiting }

// depart tells whether a departing frame is marked. late tells that the frame
// found others waiting when it came, which is ECN with a threshold of zero.
func (n *npecn) depart(late bool) bool {
	if n.paused > 0 {
		n.paused--
		return false
	}
	return late
}

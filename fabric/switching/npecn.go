package switching

// npecn is the congestion point of PCN for one egress queue (Cheng et al., NSDI
// 2020, §5.1 and fig. 7): ECN that does not mark frames queued by a pause. Its one
// counter, PN, holds the frames that the last pause left waiting.
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
// A RESUME with no frame waiting leads to PN = 0 at once. A PAUSE while PN is above
// 0 changes nothing: the next RESUME samples PN again.
type npecn struct {
	paused int // PN
}

// resume samples the frames that wait at RESUME, without the frame in
// serialisation.
func (n *npecn) resume(waiting int) { n.paused = waiting }

// depart reports whether a departing frame is marked. late says that the frame
// found other frames waiting on its arrival: ECN with a threshold of zero.
func (n *npecn) depart(late bool) bool {
	if n.paused > 0 {
		n.paused--
		return false
	}
	return late
}

package llr

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sender is the transmitting half of an end ([SAI] TX status):
//
//	               NACK, timeout
//	+---------+ -----------------> +--------+ --+ NACK, timeout:
//	| ADVANCE |                    | REPLAY |   | start anew
//	+---------+ <----------------- +--------+ <-+
//	   ^       all held are replayed    |
//	   | INIT_ECHO                      | too many replays of one frame
//	   |           +-------+            |
//	   +---------- | FLUSH | <----------+
//	               +-------+ --+ timeout: INIT again
//
// Invariant: held has the frames first, first+1, ... without an ACK, of bytes in all. Those
// from replay on wait for their replay.
type sender struct {
	settings Settings
	held     ring.Ring[held]
	first    uint32
	bytes    unit.Bytes
	replay   int               // index in held of the next frame to replay; len(held) if none
	replays  int               // of the first frame held
	flushing fabric.DropReason // why the frames held are given up, 0 if they are not
	timer    unit.Time         // of the replay, or of the next INIT; Never if nothing is held
	stats    SenderStats
}

// held is a frame in the replay buffer.
type held struct {
	frame  *frame.Frame
	length unit.Bytes
}

func newSender(s *Settings) sender { return sender{settings: *s, timer: unit.Never} }

// full reports whether no new frame may be transmitted: one of the largest frames might exceed
// the buffer, a replay waits, or the numbers are being initialised.
func (s *sender) full(mtu unit.Bytes) bool {
	return s.bytes+mtu > s.settings.Buffer || s.replay < s.held.Len() || s.flushing != 0
}

// due returns the earliest instant at which the sender uses the transmitter by itself, 0 for at
// once.
func (s *sender) due() unit.Time {
	if s.flushing == 0 && s.replay < s.held.Len() {
		return 0
	}
	return s.timer
}

// hold numbers a new frame of the given length, whose transmission ends at end, and keeps a
// copy of it.
func (s *sender) hold(end unit.Time, f *frame.Frame, length unit.Bytes, pool *frame.Pool) {
	f.Sequence = frame.Numbered | after(s.first, s.held.Len())
	own := pool.Get()
	*own = *f
	*s.held.Next() = held{own, length}
	s.bytes += length
	s.replay = s.held.Len()
	if s.timer == unit.Never {
		s.timer = end + s.settings.Timeout
	}
	s.stats.Frames++
	s.stats.PeakBytes = max(s.stats.PeakBytes, s.bytes)
}

// release removes the frames up to number good. It reports whether good is one of them, or the
// last frame before them.
func (s *sender) release(now unit.Time, good uint32, out *fabric.Out) (valid bool) {
	n := between(s.first, good) + 1
	if n < 0 || n > s.held.Len() {
		s.stats.NumberErrors++
		return false
	}
	if n == 0 {
		return true
	}
	for i := range n {
		h := s.held.At(i)
		s.bytes -= h.length
		s.put(h.frame, out)
	}
	s.held.Drop(n)
	s.first = after(s.first, n)
	s.replay, s.replays = max(0, s.replay-n), 0
	if s.flushing == 0 && s.replay == s.held.Len() {
		s.restart(now)
	}
	return true
}

// restart starts the timer anew while frames are held.
func (s *sender) restart(from unit.Time) {
	s.timer = unit.Never
	if s.held.Len() > 0 {
		s.timer = from + s.settings.Timeout
	}
}

// put returns a frame of the buffer to the pool.
func (s *sender) put(f *frame.Frame, out *fabric.Out) {
	f.Sequence = 0
	out.Drop(f)
}

// again starts a replay of all frames held, or gives them up after too many.
func (s *sender) again(now unit.Time) {
	if s.held.Len() == 0 {
		return
	}
	if s.replays == s.settings.Retries {
		s.flush(now, fabric.DropRetries)
		return
	}
	s.replays++
	s.replay = 0
	s.stats.Replays++
	s.timer = unit.Never // until the replay is complete
}

// flush begins to give up the frames held. INIT goes out at once and after each timeout.
func (s *sender) flush(now unit.Time, why fabric.DropReason) {
	if s.held.Len() == 0 || s.flushing != 0 {
		return
	}
	s.flushing, s.timer = why, now
	s.stats.Flushes++
}

// echoed ends a flush. good is the last frame that had arrived; the others are dropped.
func (s *sender) echoed(now unit.Time, port fabric.Port, good uint32, out *fabric.Out) {
	why := s.flushing
	s.release(now, good, out)
	for i := range s.held.Len() {
		h := s.held.At(i)
		f := h.frame
		out.Lost(fabric.Note{
			Event: fabric.NewDropped(h.length, why), At: now, Port: port, Flow: flowOf(f), Trace: f.Trace,
		}, f)
		s.stats.Discarded++
		s.put(f, out)
	}
	s.first = after(s.first, s.held.Len())
	s.held.Drop(s.held.Len())
	s.bytes, s.replay, s.replays, s.flushing, s.timer = 0, 0, 0, 0, unit.Never
}

// flowOf returns the flow of a frame by its message, NoFlow if it has none.
func flowOf(f *frame.Frame) fabric.FlowID {
	return fabric.FlowID(fabric.MessageOf(f.Trace)>>32) - 1
}

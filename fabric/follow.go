package fabric

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Message is a range of message numbers, as frames carry them in Trace: from First
// up to, but not including, End.
type Message struct{ First, End uint64 }

// Selection selects the messages to follow. The notes of their frames are recorded
// even if Out.Quiet is set. Picks is a pure function of seed and message, so every
// node follows the same messages. A nil Selection follows none.
type Selection struct {
	seed   uint64
	below  uint64
	all    bool
	chosen []Message // sorted, without overlaps
}

// NewSelection follows a share of all messages, from 0 to 1, sampled by a hash of
// seed and message. It also follows all chosen messages. It returns nil if no
// message can be followed.
func NewSelection(seed uint64, share float64, chosen []Message) *Selection {
	if !(share > 0) && len(chosen) == 0 {
		return nil
	}
	s := &Selection{seed: seed, all: share >= 1}
	if share > 0 && !s.all {
		s.below = uint64(share * math.Exp2(64))
	}
	sorted := slices.SortedFunc(slices.Values(chosen), func(a, b Message) int { return cmp.Compare(a.First, b.First) })
	for _, m := range sorted {
		if last := len(s.chosen) - 1; last >= 0 && m.First <= s.chosen[last].End {
			s.chosen[last].End = max(s.chosen[last].End, m.End)
			continue
		}
		s.chosen = append(s.chosen, m)
	}
	return s
}

// Picks reports whether a message is followed. trace is the Trace of one of its
// frames. A trace of 0 belongs to no message and is never followed.
func (s *Selection) Picks(trace uint64) bool {
	message := MessageOf(trace)
	if s == nil || message == 0 {
		return false
	}
	// One round of a multiplicative hash is enough: only the upper bits matter.
	h := (message ^ s.seed) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	if h < s.below || s.all {
		return true
	}
	i := sort.Search(len(s.chosen), func(i int) bool { return message < s.chosen[i].End })
	return i < len(s.chosen) && message >= s.chosen[i].First
}

// The Trace of a frame is the number of its message and two flags.
const (
	// Closing says that the response to the frame may complete its message.
	Closing uint64 = 1 << 63
	// Followed says that the message is followed. The node that sends its first frame
	// asks the Selection; the other nodes only read the flag.
	Followed uint64 = 1 << 62
)

// MessageOf returns the message number in the Trace of a frame.
func MessageOf(trace uint64) uint64 { return trace &^ (Closing | Followed) }

// Stamp returns the Trace for the frames of a message that starts at this node.
func (o *Out) Stamp(trace uint64) uint64 {
	if o.Follow != nil && o.Follow.Picks(trace) {
		return trace | Followed
	}
	return trace
}

// Follows reports whether the message with this Trace is followed.
func Follows(trace uint64) bool { return trace&Followed != 0 }

// Wants reports whether per-frame notes are recorded for the message with this
// Trace.
func (o *Out) Wants(trace uint64) bool { return !o.Quiet || Follows(trace) }

// Arrived records the arrival of a frame of a followed message.
func (o *Out) Arrived(now unit.Time, port Port, class Priority, f *frame.Frame) {
	o.passage(Note{Event: NewArrived(f.Len(), f.Arrival), At: now, Port: port, Priority: class}, f)
}

// Departed records that the transmission of a frame of a followed message began. in
// is the arrival of the frame that this one forwards or answers, Never if there is
// none. The Arrival of f is set.
func (o *Out) Departed(now unit.Time, port Port, class Priority, in unit.Time, f *frame.Frame) {
	o.passage(Note{Event: NewDeparted(in, f.Arrival), At: now, Port: port, Priority: class}, f)
}

// Lost records the loss of a frame, with its role if its message is followed.
func (o *Out) Lost(n Note, f *frame.Frame) {
	if Follows(n.Trace) {
		n.Role, n.Back = f.Role()
	}
	o.Note(n)
}

func (o *Out) passage(n Note, f *frame.Frame) {
	n.Trace = MessageOf(f.Trace)
	n.Flow = FlowID(n.Trace>>32) - 1
	n.Role, n.Back = f.Role()
	n.Closes = f.Trace&Closing != 0 && n.Role.Main()
	o.Notes = append(o.Notes, n)
}

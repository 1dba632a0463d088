package fabric

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Message is a run of messages by the numbers that ride beside their frames: from
// First up to, but not including, End.
type Message struct{ First, End uint64 }

// Selection says which messages are followed: the notes of their frames are made
// although Out.Quiet is set. It is a pure function of seed and message, so that
// every node follows the same ones. A nil Selection follows none.
type Selection struct {
	seed   uint64
	below  uint64
	all    bool
	chosen []Message // sorted, apart
}

// NewSelection follows a share of all messages, 0 to 1, picked by a hash of seed
// and message, and besides all those that are chosen. It is nil if that is none.
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

// Picks tells whether a message is followed. trace is what rides beside its
// frames; 0, which names none, is not.
func (s *Selection) Picks(trace uint64) bool {
	message := MessageOf(trace)
	if s == nil || message == 0 {
		return false
	}
	// One round of a multiplicative hash does: the upper bits decide.
	h := (message ^ s.seed) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	if h < s.below || s.all {
		return true
	}
	i := sort.Search(len(s.chosen), func(i int) bool { return message < s.chosen[i].End })
	return i < len(s.chosen) && message >= s.chosen[i].First
}

// What rides beside a frame is the message that it belongs to, and two bits.
const (
	// Closing says that the answer to the frame may be the one that completes its
	// message.
	Closing uint64 = 1 << 63
	// Followed says that the message is followed: the node that sends its first frame
	// has asked the Selection, and no other has to.
	Followed uint64 = 1 << 62
)

// MessageOf gives the message that rides beside a frame.
func MessageOf(trace uint64) uint64 { return trace &^ (Closing | Followed) }

// Stamp gives what rides beside a frame of a message that this node begins.
func (o *Out) Stamp(trace uint64) uint64 {
	if o.Follow != nil && o.Follow.Picks(trace) {
		return trace | Followed
	}
	return trace
}

// Follows tells whether the message that rides beside a frame is followed.
func Follows(trace uint64) bool { return trace&Followed != 0 }

// Wants tells whether the notes of every frame are wanted of the message that
// rides beside a frame.
func (o *Out) Wants(trace uint64) bool { return !o.Quiet || Follows(trace) }

// Arrived notes that a frame of a message that is followed has come in.
func (o *Out) Arrived(now unit.Time, port Port, class Priority, f *frame.Frame) {
	o.passage(Note{Kind: Arrived, At: now, Port: port, Priority: class, A: int64(f.Len()), B: int64(f.Arrival)}, f)
}

// Departed notes that a frame of a message that is followed began to leave; what it
// answers or forwards had come in at the instant in, Never if that is nothing. Its
// own arrival is stamped.
func (o *Out) Departed(now unit.Time, port Port, class Priority, in unit.Time, f *frame.Frame) {
	o.passage(Note{Kind: Departed, At: now, Port: port, Priority: class, A: int64(in), B: int64(f.Arrival)}, f)
}

// Lost notes that a frame was lost, and of a message that is followed what it was.
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

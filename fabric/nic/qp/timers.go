package qp

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Timer is the kind of a timer. Timers of one instant fire in the order of their kinds.
type Timer int

// Kinds of timers.
const (
	Start  Timer = iota // of a sender: its flow starts
	React               // of a sender: its reaction point
	Resend              // of a sender: the retransmission timer
	Notify              // of a receiver: its notification point
)

// Timers holds the timers of all queue pairs of a NIC, by kind and by the index of the
// sender or receiver.
type Timers struct {
	agenda    agenda.Agenda // entries: see entry
	shift     int           // there is room for 2 to this power of senders
	receivers int
}

// NewTimers returns unset timers for a number of senders and of receivers.
func NewTimers(senders, receivers int) Timers {
	t := Timers{shift: bits.Len(uint(max(senders, 1) - 1)), receivers: receivers}
	t.agenda = agenda.New(t.entry(Notify, receivers))
	return t
}

// entry returns the entry of a timer. Those of one kind follow one another.
func (t *Timers) entry(kind Timer, i int) int { return int(kind)<<t.shift + i }

// Grow makes room for more senders and receivers, up to the given numbers of all.
func (t *Timers) Grow(senders, receivers int) {
	if senders <= 1<<t.shift {
		t.receivers = max(t.receivers, receivers)
		t.agenda.Grow(t.entry(Notify, t.receivers))
		return
	}
	old := *t
	*t = NewTimers(senders, max(t.receivers, receivers))
	for entry := range old.entry(Notify, old.receivers) {
		kind, i := old.timer(entry)
		t.Set(kind, i, old.agenda.At(entry))
	}
}

// Set sets the instant of a timer; Never stops it.
func (t *Timers) Set(kind Timer, i int, at unit.Time) { t.agenda.Set(t.entry(kind, i), at) }

// At returns the instant of a timer, Never if it is stopped.
func (t *Timers) At(kind Timer, i int) unit.Time { return t.agenda.At(t.entry(kind, i)) }

// Next returns the earliest instant, Never if all timers are stopped.
func (t *Timers) Next() unit.Time { return t.agenda.Next() }

// First returns the timer that fires first.
func (t *Timers) First() (kind Timer, i int) {
	entry, _ := t.agenda.First()
	return t.timer(entry)
}

// timer returns the timer of an entry.
func (t *Timers) timer(entry int) (kind Timer, i int) {
	kind = min(Timer(entry>>t.shift), Notify)
	return kind, entry - int(kind)<<t.shift
}

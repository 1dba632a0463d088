package work

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Series is a series of commands that the host posts: Count commands with ascending IDs from
// that of Command on, the first at At, one each Every. If the command queue is full, the host
// posts the command when there is room. If Posts has elements, there are Count of them, in the order of
// their instants, and they determine the instant and the size of each command.
type Series struct {
	Command
	At, Every unit.Time
	Count     int
	Posts     []Post
	posted    int
}

// Post is one command of a series: its instant, counted from that of the series, and its size.
type Post struct {
	After unit.Time
	Size  unit.Bytes
}

// due returns the instant of the next command, Never after the last.
func (s *Series) due() unit.Time {
	if s.posted == s.Count {
		return unit.Never
	}
	if len(s.Posts) > 0 {
		return s.At + s.Posts[s.posted].After
	}
	return s.At + unit.Time(s.posted)*s.Every
}

// take returns the next command, which the host writes now.
func (s *Series) take(now unit.Time) Command {
	c := s.Command
	c.ID += uint32(s.posted)
	c.Posted = now
	if len(s.Posts) > 0 {
		c.Size = s.Posts[s.posted].Size
	}
	s.posted++
	return c
}

// TargetSeries is a series of Count commands of the target that the host posts at At, with
// ascending IDs from ID on.
type TargetSeries struct {
	Target
	At    unit.Time
	Count int
}

// schedule is what the host will post, in the order in which it posts at one instant.
type schedule struct {
	commands []Series
	targets  []TargetSeries
}

// add adds a series of commands, and forgets those that have been posted.
func (s *schedule) add(series Series) {
	s.commands = slices.DeleteFunc(s.commands, func(old Series) bool { return old.posted == old.Count })
	s.commands = append(s.commands, series)
}

// next returns the instant at which the host posts next, among the commands for which there is
// room.
func (s *schedule) next(room func(*Command) bool) unit.Time {
	at := unit.Never
	for _, t := range s.targets {
		at = min(at, t.At)
	}
	for i := range s.commands {
		if c := &s.commands[i]; room(&c.Command) {
			at = min(at, c.due())
		}
	}
	return at
}

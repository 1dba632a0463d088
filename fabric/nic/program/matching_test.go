package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A receive takes the oldest message that it selects, and a message the oldest receive.
func TestMatching(t *testing.T) {
	tests := []struct {
		name string
		does string // rHOST.TAG: a receive, mHOST.TAG: a message; * is any
		want []int  // the receives in the order in which they are done
	}{
		{"by tag", "r1.7 r1.8 m1.8 m1.7", []int{1, 0}},
		{"in order of receives", "r1.7 r1.7 m1.7", []int{0}},
		{"messages that came before", "m1.7 m2.7 r2.7 r1.7 r1.7", []int{0, 1}},
		{"any host first", "r*.7 r1.7 m1.7", []int{0}},
		{"any host second", "r1.7 r*.7 m1.7 m2.7", []int{0, 1}},
		{"any tag first", "r1.* r1.3 m1.3", []int{0}},
		{"any tag of another host", "r2.* r1.3 m1.3", []int{1}},
		{"any tag leaves other hosts' messages", "m3.1 r2.* r3.1", []int{1}},
	}
	for _, tt := range tests {
		k := newMatching(len(tt.does))
		var done []int
		receives := 0
		for _, word := range strings.Fields(tt.does) {
			s := Step{Kind: Receive, Peer: AnyHost}
			from, tag, _ := strings.Cut(word[1:], ".")
			if s.AnyTag = tag == "*"; !s.AnyTag {
				_, _ = fmt.Sscan(tag, &s.Tag)
			}
			if from != "*" {
				_, _ = fmt.Sscan(from, &s.Peer)
			}
			if word[0] == 'm' {
				if step, ok := k.arrive(s.Peer, s.Tag); ok {
					done = append(done, step)
				}
				continue
			}
			if k.await(receives, &s) {
				done = append(done, receives)
			}
			receives++
		}
		if d := cmp.Diff(tt.want, done); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// matched is the obvious twin of matching: lists of receives and messages.
type matched struct {
	receives []Step
	steps    []int
	messages []envelope
}

// takes reports whether the receive takes the message m.
func (e envelope) takes(m envelope) bool {
	return (e.from == AnyHost || e.from == m.from) && (e.anyTag || e.tag == m.tag)
}

func (m *matched) await(step int, s Step) bool {
	e := envelopeOf(&s)
	if i := slices.IndexFunc(m.messages, e.takes); i >= 0 {
		m.messages = slices.Delete(m.messages, i, i+1)
		return true
	}
	m.receives, m.steps = append(m.receives, s), append(m.steps, step)
	return false
}

func (m *matched) arrive(from int32, tag uint32) (int, bool) {
	for i, s := range m.receives {
		if e := envelopeOf(&s); e.takes(envelope{from: from, tag: tag}) {
			step := m.steps[i]
			m.receives, m.steps = slices.Delete(m.receives, i, i+1), slices.Delete(m.steps, i, i+1)
			return step, true
		}
	}
	m.messages = append(m.messages, envelope{from: from, tag: tag})
	return 0, false
}

func TestMatchingAgainstLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "events")
		fast, slow := newMatching(n), matched{}
		for i := range n {
			s := Step{
				Kind: Receive, Peer: int32(rapid.IntRange(0, 2).Draw(t, "host")), Tag: uint32(rapid.IntRange(0, 2).Draw(t, "tag")),
			}
			if rapid.Bool().Draw(t, "message") {
				a, okA := fast.arrive(s.Peer, s.Tag)
				b, okB := slow.arrive(s.Peer, s.Tag)
				if a != b || okA != okB {
					t.Fatalf("message %d: %d %v, want %d %v", i, a, okA, b, okB)
				}
				continue
			}
			if rapid.IntRange(0, 3).Draw(t, "any host") == 0 {
				s.Peer = AnyHost
			}
			if s.AnyTag = rapid.IntRange(0, 3).Draw(t, "any tag") == 0; s.AnyTag {
				s.Tag = 0
			}
			if a, b := fast.await(i, &s), slow.await(i, s); a != b {
				t.Fatalf("receive %d: %v, want %v", i, a, b)
			}
		}
	})
}

// Messages that come long before their receives, in any order, cost no more each than a few.
func BenchmarkUnexpected(b *testing.B) {
	const messages = 100_000
	for b.Loop() {
		k := newMatching(messages)
		for i := range messages {
			k.arrive(1, uint32(i))
		}
		for i := range messages {
			if !k.await(i, &Step{Kind: Receive, Peer: 1, Tag: uint32(messages - 1 - i)}) {
				b.Fatal("no message for receive ", i)
			}
		}
	}
}

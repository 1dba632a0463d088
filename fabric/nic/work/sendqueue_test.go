package work

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// placed is a part, its request's number and its first packet.
type placed struct {
	Part
	request, packet int64
}

// drawCommands draws a cutter and commands that it cuts.
func drawCommands(t *rapid.T) (Cutter, []Command) {
	payload := rapid.Int64Range(1, 50)
	c := Cutter{
		Payload: unit.Bytes(payload.Draw(t, "payload")), SubRequest: unit.Bytes(4 * payload.Draw(t, "sub-request")),
		Length: Length{Header: 40, Scale: 1},
	}
	cmds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Command {
		cmd := Command{
			Verb: Verb(rapid.IntRange(0, len(verbs)-1).Draw(t, "verb")), Size: AtomicSize,
			Address: rapid.Uint64Range(0, 1000).Draw(t, "address"),
		}
		if !cmd.Verb.Atomic() {
			cmd.Size = unit.Bytes(rapid.Int64Range(1, 1000).Draw(t, "size"))
		}
		return cmd
	}), 1, 8).Draw(t, "commands")
	return c, cmds
}

// allParts is the reference: it cuts the commands from start to end.
func allParts(c *Cutter, cmds []Command) (parts []placed) {
	packet := int64(0)
	for i := range cmds {
		for offset := unit.Bytes(0); offset < cmds[i].Size; {
			p := c.Part(&cmds[i], offset)
			parts = append(parts, placed{p, int64(i), packet})
			offset += p.Bytes
			packet += int64(p.Packets)
		}
	}
	return parts
}

// GET-22: from any packet that the cursor is moved to, the queue goes on as if it had been
// cut up to there: back, or forward past parts that need not be sent.
func TestMovingMatchesCuttingFromTheStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, cmds := drawCommands(t)
		parts := allParts(&c, cmds)
		q := NewSendQueue(c, 0)
		for i := range cmds {
			q.Post(cmds[i])
		}
		end := parts[len(parts)-1].packet + int64(parts[len(parts)-1].Packets)
		dropped := int64(0)
		for range 10 {
			from := rapid.IntRange(0, len(parts)).Draw(t, "from")
			packet := end
			if from < len(parts) {
				packet = parts[from].packet + rapid.Int64Range(0, int64(parts[from].Packets)-1).Draw(t, "inside")
			}
			if packet < end && parts[from].request < dropped {
				continue
			}
			q.MoveTo(packet)
			if from < len(parts) && q.Address() != cmds[parts[from].request].Address+uint64(parts[from].Offset) {
				t.Fatalf("part %d is at %d", from, q.Address())
			}
			for n := rapid.IntRange(0, len(parts)-from).Draw(t, "parts"); n > 0; n-- {
				p, w := q.Next()
				if got := (placed{*p, q.Number(), q.Packet()}); w != q.At(q.Number()) || got != parts[from] {
					t.Fatalf("part %d is %+v, want %+v", from, got, parts[from])
				}
				q.Advance()
				from++
			}
			if q.Unsent() != (from < len(parts)) {
				t.Fatalf("unsent is %v after %d of %d parts", q.Unsent(), from, len(parts))
			}
			if q.Len() > 0 && q.Sent(dropped) && rapid.Bool().Draw(t, "drop") {
				q.Drop()
				dropped++
			}
		}
	})
}

// Requests know their packets, wherever the cursor is when they are posted.
func TestPostedRequestsFollowOneAnother(t *testing.T) {
	q := NewSendQueue(Cutter{Payload: 1000, SubRequest: 3000, Length: Length{Scale: 1}}, 4)
	for i, c := range []struct {
		Command
		first, end int64
	}{
		{Command{Verb: Put, Size: 2500}, 0, 3},
		{Command{Verb: Get, Size: 7001}, 3, 11}, // 3 + 3 + 2 responses
		{Command{Verb: FetchAdd, Size: AtomicSize}, 11, 12},
		{Command{Verb: Send, Size: 1}, 12, 13},
	} {
		if q.Full() || q.Unsent() {
			t.Fatal("full, or not sent")
		}
		if r := q.Post(c.Command); r.First != c.first || r.End != c.end {
			t.Errorf("request %d has the packets %d to %d, want %d to %d", i, r.First, r.End, c.first, c.end)
		}
		for q.Unsent() {
			q.Advance()
		}
	}
	if !q.Full() || q.Packet() != 13 {
		t.Errorf("full %v at packet %d", q.Full(), q.Packet())
	}
	for packets, want := range map[[2]int64]unit.Bytes{{0, 1}: 1000, {0, 3}: 2500, {1, 2}: 1000, {2, 3}: 500, {1, 1}: 0} {
		if got := q.Data(q.Front(), packets[0], packets[1]); got != want {
			t.Errorf("%d bytes in the packets %v, want %d", got, packets, want)
		}
	}
	q.Clear()
	if q.Len() != 0 || q.Unsent() || q.Post(Command{Size: 1}).First != 13 {
		t.Error("does not go on after Clear")
	}
}

// An endless flow is a sequence of messages of 1 MB; another one ends after its last byte.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		size    unit.Bytes
		want    []unit.Bytes // the first three messages
		packets int64        // of all messages
	}{
		{1, []unit.Bytes{1}, 1},
		{MaxMessage, []unit.Bytes{MaxMessage}, (int64(MaxMessage) + 999) / 1000},
		{2*MaxMessage + 1001, []unit.Bytes{MaxMessage, MaxMessage, 1001}, 2*(int64(MaxMessage/1000)+1) + 2},
		{Endless, []unit.Bytes{1_000_000, 1_000_000, 1_000_000}, -1},
	} {
		s := NewStream(c.size)
		var got []unit.Bytes
		address := uint64(0)
		for w, ok := s.Next(); ok && len(got) < 3; w, ok = s.Next() {
			if w.ID != uint32(len(got)) || w.Address != address || w.Verb != Put {
				t.Fatalf("%+v is message %d", w, len(got))
			}
			got = append(got, w.Size)
			address += uint64(w.Size)
		}
		if c.packets >= 0 && Packets(c.size, 1000) != c.packets {
			t.Errorf("%v has %d packets, want %d", c.size, Packets(c.size, 1000), c.packets)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: messages of %v, want %v", c.size, got, c.want)
		}
	}
}

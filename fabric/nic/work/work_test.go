package work

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// GET-16: the NIC sees the commands that the host wrote when the host moves the
// write pointer, not before.
func TestWritePointerNotifiesTheNIC(t *testing.T) {
	q := NewQueue[Command](4)
	for id := range uint32(2) {
		q.Write(Command{ID: id})
	}
	if q.Len() != 0 {
		t.Errorf("the NIC sees %d commands before the pointer is moved", q.Len())
	}
	q.Ring()
	if q.Len() != 2 || q.Take().ID != 0 || q.Take().ID != 1 {
		t.Error("the NIC does not see the two commands in order")
	}
}

// GET-15: the queue is circular: it holds as many commands as it has slots, and
// a slot that the NIC has read is reused. The twin is a slice.
func TestQueueTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 5).Draw(t, "slots")
		q := NewQueue[uint32](slots)
		var seen, unseen []uint32
		for id := range uint32(rapid.IntRange(1, 60).Draw(t, "steps")) {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				room := len(seen)+len(unseen) < slots
				if q.Write(id) != room {
					t.Fatalf("Write is %v with %d of %d slots in use", !room, len(seen)+len(unseen), slots)
				}
				if room {
					unseen = append(unseen, id)
				}
			case 1:
				q.Ring()
				seen, unseen = append(seen, unseen...), nil
			case 2:
				if len(seen) > 0 {
					if got := q.Take(); got != seen[0] {
						t.Fatalf("took %d, want %d", got, seen[0])
					}
					seen = seen[1:]
				}
			}
			if q.Len() != len(seen) || q.Free() != slots-len(seen)-len(unseen) {
				t.Fatalf("%d to take and %d free, want %d and %d", q.Len(), q.Free(), len(seen), slots-len(seen)-len(unseen))
			}
		}
	})
}

// GET-35, GET-36: RspPktLen is computed from the amount of data requested: the
// payload plus a header of 40 bytes for each response packet.
func TestRspPktLen(t *testing.T) {
	c := Cutter{Payload: 2048, SubRequest: 6000, Length: Length{Header: 40, Scale: 1}}
	for size, want := range map[unit.Bytes]unit.Bytes{
		1: 41, 2047: 2087, 2048: 2088,
		2049: 2049 + 2*40, 4096: 4096 + 2*40, 4097: 4097 + 3*40, 6000: 6000 + 3*40,
		6001: 6000 + 3*40, // the rest belongs to a second request
	} {
		if got := c.Part(&Command{Verb: Get, Size: size}, 0).Response; got != want {
			t.Errorf("GET of %d bytes: RspPktLen %d, want %d", size, got, want)
		}
	}
	if got := c.Part(&Command{Verb: Get, Size: 6001}, 6000).Response; got != 41 {
		t.Errorf("the second request for 1 byte: RspPktLen %d, want 41", got)
	}
	// GET-7: other commands request no response whose length counts.
	for _, verb := range []Verb{Put, Send, FetchAdd, CompareSwap} {
		if got := c.Part(&Command{Verb: verb, Size: 8}, 0).Response; got != 0 {
			t.Errorf("%v: RspPktLen %d, want 0", verb, got)
		}
	}
}

// GET-36: the register's scale and shift change the counted payload of each
// packet and leave the header unchanged.
func TestPayloadScaleAndShift(t *testing.T) {
	for length, want := range map[Length]unit.Bytes{
		{Header: 40, Scale: 1}:           2048 + 3 + 2*40,
		{Header: 40, Scale: 3}:           6144 + 9 + 2*40,
		{Header: 40, Scale: 1, Shift: 1}: 1024 + 1 + 2*40,
		{Header: 66, Scale: 7, Shift: 3}: 1792 + 2 + 2*66,
		{Scale: 1, Shift: 7}:             16,
	} {
		c := Cutter{Payload: 2048, SubRequest: 6000, Length: length}
		if got := c.Part(&Command{Verb: Get, Size: 2051}, 0); got.Response != want || got.Packets != 2 {
			t.Errorf("%+v: %d packets of RspPktLen %d, want 2 of %d", length, got.Packets, got.Response, want)
		}
	}
}

// GET-22, GET-37: messages are segmented into packets of the MTU's payload, and
// a large data request into a sequence of sub-requests. Whatever the sizes, the
// parts cover the command once and in order.
func TestPartsAddUpToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := unit.Bytes(rapid.IntRange(1, 1000).Draw(t, "payload"))
		c := Cutter{Payload: payload, SubRequest: unit.Bytes(rapid.IntRange(1, 5000).Draw(t, "sub-request")), Length: Length{Header: 40, Scale: rapid.IntRange(1, MaxScale).Draw(t, "scale"), Shift: rapid.IntRange(0, MaxShift).Draw(t, "shift")}}
		cmd := Command{Verb: Verb(rapid.IntRange(0, 2).Draw(t, "verb")), Size: unit.Bytes(rapid.IntRange(1, 100_000).Draw(t, "size"))}
		most := c.Payload
		if cmd.Verb == Get {
			most = c.SubRequest
		}
		offset, parts := unit.Bytes(0), 0
		for offset < cmd.Size {
			p := c.Part(&cmd, offset)
			if p.Offset != offset || p.Bytes < 1 || p.Bytes > most || p.First != (parts == 0) || p.Last != (offset+p.Bytes == cmd.Size) {
				t.Fatalf("part %d of %d bytes: %+v", parts, cmd.Size, p)
			}
			packets, length := int32(0), unit.Bytes(0)
			for left := p.Bytes; left > 0; left -= min(left, payload) {
				packets++
				length += min(left, payload)*unit.Bytes(c.Length.Scale)/(1<<c.Length.Shift) + 40
			}
			if cmd.Verb == Get && (p.Packets != packets || p.Response != length) || cmd.Verb != Get && p.Packets != 1 {
				t.Fatalf("%+v is answered by %d packets of %d bytes", p, packets, length)
			}
			offset += p.Bytes
			parts++
		}
		if want := int((cmd.Size + most - 1) / most); parts != want {
			t.Fatalf("%d parts, want %d", parts, want)
		}
	})
}

func TestVerbs(t *testing.T) {
	for i, name := range Verbs() {
		v, ok := ParseVerb(name)
		if !ok || v != Verb(i) || v.String() != name || !v.Known() {
			t.Errorf("%q is verb %v", name, v)
		}
	}
	if v, ok := ParseVerb("steal"); ok {
		t.Errorf("steal is %v", v)
	}
	if s := Verb(99).String(); s != "verb(99)" || Verb(99).Known() {
		t.Error(s)
	}
}

package runner

import (
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/bus/faulty"
)

// natsBus starts a server and returns a function that connects to it.
func natsBus(t *testing.T) func(int) bus.Conn {
	t.Helper()
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return func(int) bus.Conn {
		c, err := bus.DialAs(server.URL(), t.Name(), bus.Access{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
}

func TestNATSMatchesDirectDrive(t *testing.T) {
	want, _ := drive(shapes["star"]())
	s := shapes["star"]()
	o := play(t, s, s.single(), natsBus(t))
	same(t, o, want)
	t.Log(summary(o))
}

// ARCH §3.4: the link protocol repairs the losses, repetitions and reordering of a
// NATS server.
func TestFaultyNATSMatchesDirectDrive(t *testing.T) {
	const name = "star, 2 act"
	want, _ := drive(shapes[name]())
	dial, faults := natsBus(t), []*faulty.Conn(nil)
	s := shapes[name]()
	o := play(t, s, s.single(), func(i int) bus.Conn {
		c := faulty.Wrap(dial(i), faulty.Rates{Drop: 0.01, Repeat: 0.05, Delay: 0.04}, uint64(i))
		faults = append(faults, c)
		return c
	})
	same(t, o, want)
	var faulted int64
	for _, c := range faults {
		faulted += c.Counts().Total()
	}
	if faulted == 0 {
		t.Error("the bus injected no faults")
	}
	t.Log(faulted, "faults;", summary(o))
}

// strange are messages that a stranger may send on a link: four malformed ones, two
// of another version, one that is too long, one of another run.
var strange = [][]byte{
	nil,
	[]byte("hello"),
	{0xfa},
	append([]byte{0xfa, bus.Version}, make([]byte, 20)...),
	{0xfa, bus.Version + 1},
	append([]byte{0xfa, 0}, make([]byte, 60)...),
	append([]byte{0xfa, bus.Version}, make([]byte, bus.MaxEnvelope)...),
	foreign,
}

// foreign is an empty envelope of run 1, which is not the run of the test.
var foreign = []byte{
	0: 0xfa, 1: bus.Version, 7: 1, 15: 1,
	40: 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 51: 0,
}

// stranger publishes the strange messages on a link when its conn publishes there.
type stranger struct {
	bus.Conn
	left int // number of times left
}

func (s *stranger) Publish(subject string, data []byte) error {
	if s.left > 0 {
		s.left--
		for _, d := range strange {
			if err := s.Conn.Publish(subject, d); err != nil {
				return err
			}
		}
		if err := s.Conn.Publish("rackfab.test.link.nobody.n01", data); err != nil {
			return err
		}
	}
	return s.Conn.Publish(subject, data)
}

// Messages of a stranger on a link are counted by kind and ignored: no crash, and the
// same digest.
func TestForeignMessagesAreCountedAndIgnored(t *testing.T) {
	const times = 3
	for name, dial := range map[string]func(int) bus.Conn{"memory": memory(), "nats": natsBus(t)} {
		t.Run(name, func(t *testing.T) {
			want, _ := drive(shapes["ring of 3"]())
			s := shapes["ring of 3"]()
			o := play(t, s, s.single(), func(i int) bus.Conn {
				if i == 0 {
					return &stranger{dial(i), times}
				}
				return dial(i)
			})
			same(t, o, want)
			var c bus.Counts
			for _, r := range o.results {
				c.Malformed += r.Malformed
				c.Oversized += r.Oversized
				c.OtherVersion += r.OtherVersion
				c.Foreign += r.Foreign
			}
			if c.Malformed != 4*times || c.OtherVersion != 2*times || c.Oversized != times || c.Foreign != 2*times {
				t.Errorf("counted %+v", c)
			}
		})
	}
}

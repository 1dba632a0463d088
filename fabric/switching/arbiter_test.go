package switching

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const largestFrame = 1500

// lanes drives one egress queue with arbitration by ingress port.
type lanes struct {
	queue
	t      *rapid.T
	served []unit.Bytes
	all    unit.Bytes
}

func newLanes(t *rapid.T, ports int) *lanes {
	q := newQueue(ArbitrateIngress, ports)
	q.open()
	return &lanes{queue: q, t: t, served: make([]unit.Bytes, ports)}
}

// fill enqueues a frame of any length from the port.
func (l *lanes) fill(port int) {
	f := packet(0, 0, lossless, frame.NotECT, 0, rapid.Uint32Range(64, largestFrame).Draw(l.t, "length"))
	l.push(f, f.Len(), fabric.Port(port))
}

// send dequeues the next frame and returns its ingress port.
func (l *lanes) send() fabric.Port {
	e := l.front()
	l.served[e.from] += e.length
	l.all += e.length
	l.pop()
	return e.from
}

// The twin is the fluid share, in whole numbers: of k ports that have been waiting since
// the same instant, each has sent all/k, plus or minus one largest frame.
func TestIngressPortsReceiveTheirFluidShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ports = 20
		l := newLanes(t, ports)
		waiting := rapid.SliceOfNDistinct(rapid.IntRange(0, ports-1), 1, ports, rapid.ID[int]).Draw(t, "waiting")
		for _, port := range waiting {
			l.fill(port)
		}
		for range rapid.IntRange(1, 300).Draw(t, "frames") {
			l.fill(int(l.front().from)) // before the pop: no lane is ever empty
			l.send()
			for _, port := range waiting {
				k := unit.Bytes(len(waiting))
				if off := k*l.served[port] - l.all; off > k*largestFrame || -off > k*largestFrame {
					t.Fatalf("port %d of %d had %d of %d bytes", port, k, l.served[port], l.all)
				}
			}
		}
	})
}

// At any time while two ports both have frames waiting, neither gets more than the two
// largest frames ahead of the other (Goyal, Vin and Cheng, theorem 1).
func TestNoIngressPortFallsBehindAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ports = 5
		l := newLanes(t, ports)
		var lead, least, most [ports][ports]unit.Bytes
		forget := func(port int) {
			for i := range ports {
				lead[i][port], least[i][port], most[i][port] = 0, 0, 0
				lead[port][i], least[port][i], most[port][i] = 0, 0, 0
			}
		}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			if l.count == 0 || rapid.Bool().Draw(t, "fill") {
				l.fill(rapid.IntRange(0, ports-1).Draw(t, "port"))
				continue
			}
			length := l.front().length
			from := int(l.send())
			for i := range ports {
				if i == from || l.lanes[i].Len() == 0 {
					continue
				}
				lead[from][i] += length
				least[from][i] = min(least[from][i], lead[from][i])
				most[from][i] = max(most[from][i], lead[from][i])
				lead[i][from] -= length
				least[i][from] = min(least[i][from], lead[i][from])
				most[i][from] = max(most[i][from], lead[i][from])
				if gap := most[from][i] - least[from][i]; gap > 2*largestFrame {
					t.Fatalf("port %d got %d bytes ahead of port %d", from, gap, i)
				}
			}
			if l.lanes[from].Len() == 0 {
				forget(from)
			}
		}
	})
}

// The twin of the ring looks at every port for the smallest start tag.
func TestArbiterAgainstScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ports = 6
		l := newLanes(t, ports)
		var tag [ports]unit.Bytes
		var now, end unit.Bytes
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			if l.count == 0 || rapid.Bool().Draw(t, "fill") {
				port := rapid.IntRange(0, ports-1).Draw(t, "port")
				if l.lanes[port].Len() == 0 {
					tag[port] = max(tag[port], now)
				}
				l.fill(port)
				continue
			}
			want := -1
			for port := range tag {
				if l.lanes[port].Len() > 0 && (want < 0 || tag[port] < tag[want]) {
					want = port
				}
			}
			length := l.front().length
			if got := l.send(); int(got) != want {
				t.Fatalf("port %d sends, want %d by tags %d", got, want, tag)
			}
			now = tag[want]
			tag[want] += length
			end = max(end, tag[want])
			if l.count == 0 {
				now = end
			}
		}
	})
}

// A port that was absent has no claim to bytes sent meanwhile: it joins with the tag of
// the frame sent last.
func TestIdleIngressPortAccumulatesNoDeficit(t *testing.T) {
	q := newQueue(ArbitrateIngress, 2)
	push := func(port fabric.Port, frames int) {
		for range frames {
			q.push(data(0, 0, lossless), size, port)
		}
	}
	push(1, 10)
	for range 5 {
		q.pop()
	}
	push(0, 3)
	for i, want := range []fabric.Port{0, 0, 1, 0, 1, 1, 1, 1} {
		if got := q.front().from; got != want {
			t.Fatalf("frame %d is of port %d, want %d", i, got, want)
		}
		q.pop()
	}
}

// An empty queue discards the differences between ports.
func TestEmptyQueueResetsArbitration(t *testing.T) {
	q := newQueue(ArbitrateIngress, 2)
	q.push(data(0, 0, lossless), size, 0)
	q.pop()
	q.push(data(0, 0, lossless), size, 1)
	q.push(data(0, 0, lossless), size, 0)
	if got := q.front().from; got != 0 {
		t.Errorf("port %d is first, want 0, the lower of two equals", got)
	}
}

// crowd lets fourteen ports burst at line rate to port 0, together with a trunk, port
// 15, that carries half of its rate. It counts what port 0 sent, and the trunk's share.
func crowd(t *testing.T, a Arbitration) (all, trunk int) {
	cfg := rackConfig(16)
	cfg.Arbitration = a
	cfg.Classes[lossless].XOFF = unit.Megabyte
	cfg.Buffer = 100 * unit.Megabyte
	r := newRig(t, cfg)
	for i := range unit.Time(400) {
		for port := fabric.Port(1); port < 15; port++ {
			r.arrive(i*slot, port, data(0, uint32(port), lossless))
		}
		if i%2 == 0 {
			r.arrive(i*slot, 15, data(0, 15, lossless))
		}
	}
	for _, f := range r.sent(0) {
		if flow, _, _ := frame.FlowOfQP(f.DestQP()); flow == 15 {
			trunk++
		}
		all++
	}
	return all, trunk
}

// PCN-9: of 15 ports that send to one, each gets a fifteenth: 40/15 = 2.67
// Gbit/s; in one queue a port gets its part of what arrives, here 1 in 29.
func TestIngressArbitrationDividesByPort(t *testing.T) {
	if all, trunk := crowd(t, ArbitrateIngress); trunk != all/15 {
		t.Errorf("in turns the trunk has %d of %d frames, want 1 in 15", trunk, all)
	}
	if all, trunk := crowd(t, ArbitrateFIFO); trunk != (all+15)/29 {
		t.Errorf("in one queue the trunk has %d of %d frames, want 1 in 29", trunk, all)
	}
}

// PCN-23, PCN-25: the queue that a frame finds is that of the class, whichever
// ingress port it is from.
func TestMarkingCountsAllLanes(t *testing.T) {
	cfg := rackConfig(5)
	cfg.Arbitration = ArbitrateIngress
	r := newRig(t, cfg)
	r.burst(0, 4, lossless) // each by a port of its own
	r.run(us)
	r.wantMarks("--MM")
}

// PCN-21, PCN-22: PN counts all lanes at RESUME, and as many departures are
// spared, also where a lane that came later takes its turn before a paused frame.
func TestPNCountsAllLanes(t *testing.T) {
	cfg := rackConfig(5)
	cfg.Arbitration = ArbitrateIngress
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for range 3 {
		r.arrive(us, 1, data(0, 1, lossless))
	}
	r.arrive(us, 2, data(0, 2, lossless))
	r.arrive(2*us, 0, pause(lossless, 0)) // PN := 4; one frame of port 1 leaves
	if got := r.ports[0].npecn[lossless].paused; got != 3 {
		t.Fatalf("PN = %d after RESUME with 4 waiting and the first of them sent, want 3", got)
	}
	r.arrive(2*us+1, 3, data(0, 3, lossless))
	r.run(10 * us)
	r.wantMarks("----M")
	last := r.sent(0)[4]
	if flow, _, _ := frame.FlowOfQP(last.DestQP()); flow != 1 {
		t.Errorf("flow %d is last, want the third frame of port 1", flow)
	}
}

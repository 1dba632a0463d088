package switching

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ports is how many ports a crowded switch has.
const ports = 4

// step is the arrival of one frame, gap after the previous one.
type step struct {
	gap unit.Time
	at  fabric.Port
	f   frame.Frame
}

// drawSteps draws traffic that congests a few ports, with pauses by their peers,
// and with oversized, unroutable and malformed frames.
func drawSteps(t *rapid.T, classes ...fabric.Priority) []step {
	steps := make([]step, rapid.IntRange(1, 250).Draw(t, "frames"))
	var psn [256]uint32
	for i := range steps {
		s := &steps[i]
		s.gap = unit.Time(rapid.Int64Range(0, 3).Draw(t, "gap")) * slot / 4
		s.at = fabric.Port(rapid.IntRange(0, ports-1).Draw(t, "at"))
		class := rapid.SampledFrom(append(classes, lossless, lossless, 4, lossy, control)).Draw(t, "class")
		switch rapid.IntRange(0, 19).Draw(t, "what") {
		case 0, 1:
			s.f = *pause(class, uint16(rapid.SampledFrom([]int{0, 1, 100, 2000}).Draw(t, "quanta")))
		case 2:
			s.f = *packet(rapid.SampledFrom([]int{0, 99}).Draw(t, "to"), 9, class, frame.ECT1, 0, 1600)
		case 3:
			s.f.SetHeader(make([]byte, 30))
		default:
			to := rapid.IntRange(0, 1).Draw(t, "to")
			flow := uint32(class)<<4 | uint32(s.at)<<1 | uint32(to)
			psn[flow]++
			length := rapid.Uint32Range(64, 1500).Draw(t, "length")
			if s.f = *from(int(s.at), packet(to, flow, class, frame.ECT0, psn[flow], length)); class == lossy && length > headers {
				s.f = *from(int(s.at), writeOf(to, flow, class, psn[flow], length))
			}
		}
	}
	return steps
}

// crowdedConfig returns a configuration with a buffer small enough to reach every
// threshold.
func crowdedConfig(t *rapid.T) Config {
	cfg := rackConfig(ports)
	cfg.Seed = rapid.Uint64().Draw(t, "seed")
	cfg.Classes[lossless] = ClassConfig{
		Lossless: true, Reserve: 1500, XON: 500, Headroom: 4000, Quanta: 50,
		XOFF: unit.Bytes(rapid.SampledFrom([]int{0, 3000}).Draw(t, "xoff")), Marking: cc.MarkNPECN,
	}
	cfg.Classes[4] = ClassConfig{
		Lossless: true, AlphaShift: 2, Headroom: 3000, Quanta: 20,
		Marking: rapid.SampledFrom([]cc.Marking{cc.MarkRED, cc.MarkQCN}).Draw(t, "law"),
		RED:     REDConfig{Kmin: 1000, Kmax: 6000, Pmax: 0.5},
		QCN:     QCNConfig{SetPoint: 1500, Weight: 2, SampleBase: 2000, Jitter: 0.15, AtDeparture: rapid.Bool().Draw(t, "departure")},
	}
	cfg.Classes[lossy] = ClassConfig{
		Reserve:    unit.Bytes(rapid.SampledFrom([]int{0, 700, 2500}).Draw(t, "lossy reserve")),
		XOFF:       unit.Bytes(rapid.SampledFrom([]int{0, 0, 1, 2000}).Draw(t, "limit")),
		AlphaShift: rapid.IntRange(-3, 3).Draw(t, "alpha"),
	}
	cfg.CNMClass = control
	cfg.Weights[lossless] = 3
	cfg.Arbitration = rapid.SampledFrom([]Arbitration{ArbitrateFIFO, ArbitrateIngress}).Draw(t, "arbitration")
	cfg.Buffer = cfg.set() + unit.Bytes(rapid.IntRange(0, 30_000).Draw(t, "pool"))
	return cfg
}

// boundedConfig returns a crowded configuration with bounds of class lossy, and of the class of
// its trimmed frames.
func boundedConfig(t *rapid.T) Config {
	cfg := crowdedConfig(t)
	limit := func(label string) unit.Bytes {
		return unit.Bytes(rapid.SampledFrom([]int{0, 1, 1500, 4000}).Draw(t, label))
	}
	cfg.Classes[lossy].Queue = QueueConfig{
		Limit: limit("queue limit"), LastHop: limit("queue limit at the last hop"),
		Trim: TrimConfig{
			On: rapid.IntRange(0, 4).Draw(t, "trim") > 0, Size: unit.Bytes(rapid.IntRange(64, 300).Draw(t, "trim size")),
			DSCP: trimmedAt, DSCPLastHop: lastHopAt,
			Policy: rapid.SampledFrom([]TrimPolicy{TrimArriving, TrimHTSim, TrimHTSim}).Draw(t, "trim policy"),
		},
	}
	cfg.Classes[trimClass].Queue.Limit = unit.Bytes(rapid.SampledFrom([]int{0, 100, 500}).Draw(t, "limit of trimmed frames"))
	cfg.Ports[0].LastHop = true
	cfg.Buffer = cfg.set() + unit.Bytes(rapid.IntRange(5_000, 60_000).Draw(t, "shared buffer"))
	return cfg
}

// play feeds the steps and returns some time after the last.
func (r *rig) play(steps []step) {
	now := unit.Time(0)
	for i := range steps {
		now += steps[i].gap
		r.arrive(now, steps[i].at, &steps[i].f)
	}
	r.run(now + 100*us)
}

// The twin of the accounts adds up all queued frames after every call. At every instant
// the bytes received are the bytes sent, queued, dropped and trimmed.
func TestAccountsAgainstQueuedFrames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { checkAccounts(t, rt, crowdedConfig(rt), drawSteps(rt)) })
}

// TRIM-9: the same with queues that have limits, and trim.
func TestAccountsOfBoundedQueues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkAccounts(t, rt, boundedConfig(rt), drawSteps(rt, lossy, lossy, lossy, lossy, lossy, lossy, lossy, lossy))
	})
}

func checkAccounts(t *testing.T, rt *rapid.T, cfg Config, steps []step) {
	r := newRig(t, cfg)
	r.after = func() {
		if diff := r.accountsDiffer(); diff != "" {
			rt.Fatal(diff)
		}
	}
	r.play(steps)
}

// accountsDiffer compares every account with the frames in the queues.
func (r *rig) accountsDiffer() string {
	var twin [ports][fabric.Priorities]unit.Bytes
	var received, left unit.Bytes
	var shared unit.Bytes
	for i := range r.ports {
		for class := range r.ports[i].queues {
			for _, e := range r.ports[i].queues[class].entries() {
				twin[e.from][class] += e.length
				left += e.length
			}
		}
	}
	var got [ports][fabric.Priorities]unit.Bytes
	for i, p := range r.Stats().Ports {
		for class, c := range p.Classes {
			got[i][class] = c.OccupancyBytes
			received += c.ReceivedBytes + c.OriginatedBytes
			left += c.SentBytes + c.DroppedBytes + c.TrimmedBytes
			cfg := &r.cfg.Classes[class]
			shared += max(c.OccupancyBytes-c.HeadroomBytes-cfg.Reserve, 0)
			if c.HeadroomBytes < 0 || c.HeadroomBytes > cfg.Headroom || c.OccupancyBytes < c.HeadroomBytes {
				return "headroom out of bounds"
			}
			if cfg.Lossless && c.HeadroomBytes > 0 && !c.PeerIsPaused {
				return "headroom in use and the peer not paused"
			}
			if limit := cfg.Queue.limit(i == 0); limit > 0 && c.QueueBytes > limit {
				return "a queue is above its limit"
			}
			if c.PeerIsPaused && c.OccupancyBytes == 0 {
				return "an empty account holds its peer"
			}
		}
	}
	if received != left {
		return cmp.Diff(received, left)
	}
	if shared != r.buffer.shared || shared > r.buffer.pool {
		return cmp.Diff(shared, r.buffer.shared)
	}
	return cmp.Diff(twin, got)
}

// Every frame received whole is sent, dropped or noted as malformed. The frames of a
// flow leave in the order of arrival, but for trimmed ones.
func TestOrderAndConservation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := rapid.SampledFrom([]func(*rapid.T) Config{crowdedConfig, boundedConfig}).Draw(rt, "configuration")
		r := newRig(t, draw(rt))
		steps := drawSteps(rt)
		r.play(steps)
		r.run(unit.Second)
		last := map[uint32]uint32{}
		arrival := make([]unit.Time, ports)
		for i := range r.out.Sends {
			s := &r.out.Sends[i]
			if s.Frame.Arrival <= arrival[s.Port] {
				rt.Fatalf("port %d: a frame at %v after one at %v", s.Port, s.Frame.Arrival, arrival[s.Port])
			}
			arrival[s.Port] = s.Frame.Arrival
			if s.Frame.Class() != frame.ClassRoCE || s.Frame.Trimmed() {
				continue
			}
			if qp := s.Frame.DestQP(); s.Frame.PSN() <= last[qp] {
				rt.Fatalf("flow of queue pair %x: PSN %d after %d", qp, s.Frame.PSN(), last[qp])
			} else {
				last[qp] = s.Frame.PSN()
			}
		}
		in, out := len(r.notes(fabric.CNMSent)), len(r.notes(fabric.Dropped))+len(r.notes(fabric.Malformed))
		for i := range steps {
			if steps[i].f.Class() != frame.ClassPFC {
				in++
			}
		}
		for port := range fabric.Port(ports) {
			out += len(r.sent(port)) + len(r.cnms(port))
		}
		if in != out {
			rt.Fatalf("%d frames came in, %d were sent, dropped or malformed", in, out)
		}
		for _, p := range r.Stats().Ports {
			for class, c := range p.Classes {
				if c.OccupancyBytes != 0 || c.Paused || c.PeerIsPaused {
					rt.Fatalf("class %d is not at rest: %+v", class, c)
				}
			}
		}
	})
}

// The same calls produce the same Out, whether or not Quiet is set.
func TestDeterminism(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := boundedConfig(rt)
		steps := drawSteps(rt, lossy)
		run := func(quiet bool) *rig {
			r := newRig(t, cfg)
			r.out.Quiet = quiet
			r.play(steps)
			return r
		}
		a, b, quiet := run(false), run(false), run(true)
		equal := cmp.Comparer(func(a, b frame.Frame) bool { return a == b })
		if diff := cmp.Diff(a.out, b.out, equal, cmpopts.EquateComparable(fabric.Event{}), cmpopts.IgnoreUnexported(fabric.Out{})); diff != "" {
			rt.Fatal(diff)
		}
		if diff := cmp.Diff(a.out.Sends, quiet.out.Sends, equal); diff != "" {
			rt.Fatal(diff)
		}
		for _, n := range quiet.out.Notes {
			if n.Kind.PerFrame() {
				rt.Fatalf("quiet, but noted %+v", n)
			}
		}
		if diff := cmp.Diff(a.Stats(), quiet.Stats()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

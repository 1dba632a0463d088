package imports

import (
	"fmt"
	"math"
	"strings"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Constants of htsim's UEC driver (uet-htsim 40ccb05).
const (
	uecMTU     = 4150  // main_uec.cpp: packet_size
	uecHeaders = 64    // uec.cpp 28: headers of a packet, and the size of ACK, NACK and trimmed packet
	uecSACK    = 16384 // uec.cpp 22: bytes after which an ACK is sent
	uecCredit  = 4096  // uec.cpp 32 to 36: a pull has credit for 4 packets of that size, whatever -mtu is
	uecLow     = 0.2   // main_uec.cpp: marking begins at that share of a BDP, and reaches 1 at uecHigh
	uecHigh    = 0.8
	uecWindow  = 1.5 // uec.cpp 166: largest and initial window in BDP
)

// uecOverhead is the overhead of a link, in bytes, with which a frame of UET takes as long as a packet of htsim
// with the same payload.
const uecOverhead = uecHeaders - frame.UETHeaders - frame.FCSLen

// uec are the settings of htsim's UEC driver.
type uec struct {
	o          *HTSimOptions
	mtu        float64   // bytes on a link
	rate       unit.Rate // of a host
	rtt        unit.Time // of the longest path
	bdp, queue float64   // packets
	rto        unit.Time
	rack       unit.Bytes // bandwidth-delay product, as the scenario has it
}

// payload returns the payload of a packet.
func (u *uec) payload() int { return int(u.mtu) - uecHeaders }

// frame returns the length of a packet's frame.
func (u *uec) frame() float64 { return u.mtu - uecOverhead }

// linkMTU returns the MTU of links, with room for the headers and the telemetry of other schemes.
func (u *uec) linkMTU() int { return int(u.frame()) + 256 }

// ends returns the settings of NICs and links.
func (u *uec) ends() string {
	entropies := ", entropy: flow"
	if paths := int(u.o.get(optPaths, 64)); paths > 1 {
		entropies = fmt.Sprintf(", entropies: %d", paths)
		if name, given := u.o.words[optBalancing]; given {
			entropies += ", entropy: " + strings.ReplaceAll(name, "_", "-")
		}
	}
	return fmt.Sprintf("  nic: {payload: %dB%s}\n  link: {overhead: %dB, mtu: %dB}\n", u.payload(), entropies, uecOverhead, u.linkMTU())
}

// measure computes the settings that depend on the rack. text is a scenario with ends.
func (u *uec) measure(text []byte) error {
	s, err := parsed(text)
	if err != nil {
		return err
	}
	ends := s.PortMap()
	paths := routes.NewPaths(s, ends)
	var longest unit.Time
	links, from := 0, -1
	for to := range s.NodesOf(topology.NIC) {
		if from < 0 {
			from, u.rate = to, s.Links[ends[to][0].Link].Rate
		}
		var delay unit.Time
		hops := 0
		for hop := range paths.Path(from, to) {
			delay, hops = delay+s.Links[hop.Link].Delay, hops+1
		}
		longest, links = max(longest, delay), max(links, hops)
	}
	u.rack = paths.BDP()
	u.compute(longest, links)
	return nil
}

// compute computes the settings by the delay and the links of the longest path (main_uec.cpp, calculate_rtt
// and calculate_bdp_pkt).
func (u *uec) compute(delay unit.Time, links int) {
	rate := float64(u.rate) / 8 // bytes per s
	u.rtt = 2*delay + unit.Time(math.Round(float64(links)*(u.mtu+uecHeaders)/rate*float64(unit.Second)))
	u.bdp = math.Ceil(u.rtt.Seconds() * rate / u.mtu)
	factor := 1.0
	if u.o.has(optNoTrim) {
		factor = 5 // main_uec.cpp: DEFAULT_NONTRIMMING_QUEUESIZE_FACTOR
	}
	u.queue = u.o.get(optQueue, u.bdp*u.o.get(optFactor, factor))
	u.rto = 15*unit.Microsecond + unit.Time(math.Round(6*u.queue*u.mtu/rate*float64(unit.Second))) // main_uec.cpp: min RTO
}

// switches returns the settings of switches. htsim counts the packet that a port sends as part of its queue, and
// rackfab does not. Trimmed packets have a queue twice as long, above that of data (compositequeue.cpp).
func (u *uec) switches() string {
	limit := max(int((u.queue-1)*u.frame()), u.linkMTU()) // a queue holds a frame
	share := func(name string, of float64) float64 {
		return u.o.get(name, math.Ceil(u.bdp*of)) * u.frame() / float64(u.rack)
	}
	trimmed := u.o.get(optTrim, uecHeaders)
	text := fmt.Sprintf("  switch:\n    queue_limit: %dB\n    queue_limit_lasthop: %[1]dB\n    bdp_kmin: %.6g\n    bdp_kmax: %.6g\n",
		limit, share(optLow, uecLow), share(optHigh, uecHigh))
	if u.o.has(optNoTrim) {
		return text + "    trim: off\n"
	}
	if trimmed > uecHeaders {
		text += fmt.Sprintf("    trim_size: %dB\n", int(trimmed)-uecOverhead)
	}
	return text + fmt.Sprintf("    trim_policy: htsim\n    weights: [1, 1, 1, 1, 1, 0, 0, 1]\n    class5: {queue_limit: %dB}\n",
		int(2*u.queue*u.mtu/trimmed*(trimmed-uecOverhead)))
}

// schemes returns the name of the driver's scheme, and the parameters of schemes.
func (u *uec) schemes() (name, parameters string) {
	name = "nscc"
	nscc := fmt.Sprintf("preset: htsim, base_rtt: %s", u.rtt)
	if u.o.has(optTarget) {
		nscc += fmt.Sprintf(", target_delay: %s", unit.Time(math.Round(u.o.get(optTarget, 0)*float64(unit.Microsecond))))
	}
	if gate, given := u.o.numbers[optGate]; given {
		nscc += fmt.Sprintf(", qa_gate: %d", int(gate))
	}
	bdp := u.rtt.Seconds() * float64(u.rate) / 8
	window := u.o.get(optWindow, uecWindow*bdp/u.mtu) * u.mtu
	if u.o.has(optWindow) {
		nscc += fmt.Sprintf(", max_cwnd: %.6g", window/bdp)
	}
	if u.o.has(optReceiver) || u.o.has(optBoth) {
		name = "rccc"
		if u.o.has(optBoth) && !u.o.has(optReceiver) {
			nscc += ", credit: true"
		}
	}
	mrc := fmt.Sprintf("rto: %s, ack_bytes: %dB", u.rto, int(math.Ceil(u.o.get(optSACK, uecSACK)/u.mtu))*u.payload())
	if u.o.has(optSLEEK) {
		mrc += ", loss: sleek"
	}
	return name, fmt.Sprintf("schemes:\n  nscc: {%s}\n  rccc: {mtu: %dB, window: %dB, base_rtt: %s, retry: %[5]s}\n  mrc: {%[6]s}\n",
		nscc, uecCredit, int(window), u.rtt, u.rto, mrc)
}

// note says what the settings are.
func (u *uec) note(scheme string) string {
	text := fmt.Sprintf("as htsim's UEC driver: %s, packets of %.0fB, queues of %s, one base RTT of %s", scheme, u.mtu, unit.Counted(int(u.queue), "packet"), u.rtt)
	if rest := u.payload() % topology.PayloadWord; rest != 0 {
		text += fmt.Sprintf("; schemes over RoCEv2 cannot send these: --mtu %d", int(u.mtu)-rest)
	}
	return text
}

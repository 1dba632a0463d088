package scenariofile

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxBins bounds the length of a recorded series.
const maxBins = 1_000_000

// validate checks conditions across several keys. Single keys were checked when they
// were read. It changes nothing.
func (b *builder) validate(ends [][]topology.End) {
	b.checkBins()
	t, p := b.s.CC.TIMELY, b.s.CC.PCN
	b.require(t.TLow <= t.THigh, b.schemes["timely"].of("t_low"), "%s is above t_high %s", t.TLow, t.THigh)
	b.require(p.WMin <= p.WMax, b.schemes["pcn"].of("wmin"), "%v is above wmax %v", p.WMin, p.WMax)
	b.checkCabling(ends)
	b.checkRetry()
	b.checkPayloads()
	b.checkPads()
	b.checkUET()
	b.checkEntropies()
	b.checkCodePoints()
	for i, n := range b.s.NodesOf(topology.Switch) {
		b.checkSwitch(&n.Switch, b.nodes[i], b.linksAt(ends[i]))
		b.checkTrims(&n.Switch, b.nodes[i], b.s.DSCPMapAt(i))
	}
	b.checkConverters()
	b.checkCETH()
	b.checkEcho()
	b.checkSections()
	for i, f := range b.s.Flows {
		b.checkFlow(f, b.flows[i], ends)
	}
	b.checkCommands(ends)
	if v := b.s.Vary; v.Key != "" && findSetting(&b.s, v.Key) == nil && !b.noNodes {
		b.fault(b.top.of("vary"), "unknown key %s, want one that `rackfab sweep --set` takes", v.Key)
	}
}

func (b *builder) checkBins() {
	bins := b.s.Duration / b.s.Bin
	b.require(bins <= maxBins, b.top.of("bin"), "divides %s into %d bins, want at most %d: a bin of at least %s",
		b.s.Duration, bins, maxBins, (b.s.Duration+maxBins-1)/maxBins)
}

// checkSections validates the given sections with the schemes' own checks. It does
// nothing if there are faults already, because those name the key.
func (b *builder) checkSections() {
	if len(b.list) > 0 {
		return
	}
	for _, s := range schemeSections {
		if src := b.schemes[s.scheme]; len(src.given) > 0 {
			b.accept(b.s.CC.Validate(s.scheme), src.place)
		}
	}
}

// checkCabling checks that every NIC has one link and a path to the first NIC. It
// does nothing if nodes or links could not be read.
func (b *builder) checkCabling(ends [][]topology.End) {
	if b.noNodes || b.noLinks {
		return
	}
	if len(b.s.Nodes) == 0 || b.s.Nodes[0].Kind != topology.NIC {
		b.fault(b.top.of("nics"), "names no NIC, want at least one")
		return
	}
	hops := routes.Hops(ends, 0)
	for i, n := range b.s.Nodes {
		switch links := len(ends[i]); {
		case links == 0:
			b.fault(b.nodes[i].place, "%s has no link", n.Name)
		case n.Kind == topology.NIC && links > 1:
			b.fault(b.nodes[i].place, "%s has %d links, a NIC has one", n.Name, links)
		case n.Kind == topology.NIC && hops[i] < 0:
			b.fault(b.nodes[i].place, "no path from %s to %s", n.Name, b.s.Nodes[0].Name)
		}
	}
}

// checkPayloads checks that the largest data frame of every NIC fits the MTU of every link.
func (b *builder) checkPayloads() {
	if len(b.s.Links) == 0 {
		return
	}
	narrow := 0
	for i, l := range b.s.Links {
		if l.MTU < b.s.Links[narrow].MTU {
			narrow = i
		}
	}
	mtu := b.s.Links[narrow].MTU
	for range b.s.NodesOf(topology.Switch) {
		b.switches++
	}
	for i, n := range b.s.NodesOf(topology.NIC) {
		at := b.links[narrow].of("mtu")
		if b.nodes[i].has("payload") {
			at = b.nodes[i].of("payload")
		}
		tagged := b.s.SendsTags(i)
		headers, with := b.dataFrame(0, tagged)
		length, _ := b.dataFrame(n.NIC.Payload, tagged)
		b.require(length <= mtu, at, "a payload of %dB needs frames of %dB%s, above the mtu of %dB of link %s: want a payload of at most %dB",
			n.NIC.Payload, length, with, mtu, b.linkName(b.s.Links[narrow]), (mtu-headers)/topology.PayloadWord*topology.PayloadWord)
	}
}

// dataFrame returns the length of the largest data frame of a NIC with that payload, and what the scheme
// and the tags of a program add to it. Under a scheme over UET, flows send its requests, whose headers
// have a tag, and commands RoCEv2.
func (b *builder) dataFrame(payload unit.Bytes, tagged bool) (length unit.Bytes, with string) {
	length = topology.DataFrame(payload)
	scheme, err := cc.Find(b.s.Scheme)
	if err != nil {
		return length, ""
	}
	if scheme.Notification.UET() {
		return max(length, payload+frame.UETHeaders+frame.FCSLen), ""
	}
	length, with = b.withTelemetry(length, payload, &scheme)
	if tagged {
		return length + frame.ImmLen, with + " with the immediate data of its program"
	}
	return length, with
}

// withTelemetry returns the length of a data frame with what the scheme adds to it. Telemetry has room
// for every switch: a switch writes none into a packet without room.
func (b *builder) withTelemetry(length, payload unit.Bytes, scheme *cc.Scheme) (_ unit.Bytes, with string) {
	switch source := b.s.CC.CETH.Source; {
	case scheme.Notification == cc.NotifyLoad:
		p := frame.Packet{BTH: frame.BTH{Opcode: frame.WriteOnly}, Payload: uint32(payload)}
		return max(length, p.Len()+frame.LoadLen(b.switches)), " with the load of their path under the scheme " + scheme.Name
	case scheme.Notification == cc.NotifyCETH && (source == cc.CETHINT || source == cc.CETHIOAM):
		const shim = 16 // of INT; IOAM's is shorter
		return length + shim, fmt.Sprintf(" with the telemetry of schemes.ceth.source %s", source)
	}
	return length, ""
}

// checkPads checks that payloads are whole words where packets are those of RoCEv2: its pad count fills words of 4
// bytes in the last packet of a message only (IBTA volume 1 chapter 9), and the packets before it carry whole words.
// UET has no pad count, but commands send RoCEv2 under its schemes too.
func (b *builder) checkPads() {
	scheme, err := cc.Find(b.s.Scheme)
	if err != nil || scheme.Notification.UET() && len(b.s.Commands) == 0 {
		return
	}
	why := ""
	if scheme.Notification.UET() {
		why = " of a command"
	}
	for i, n := range b.s.NodesOf(topology.NIC) {
		rest := n.NIC.Payload % topology.PayloadWord
		b.require(rest == 0, b.nodes[i].of("payload"), "%dB is not a multiple of %dB, which all packets of a message%s but the last must be: want %dB or %dB",
			n.NIC.Payload, topology.PayloadWord, why, max(n.NIC.Payload-rest, topology.PayloadWord), n.NIC.Payload-rest+topology.PayloadWord)
	}
}

// checkUET checks the flows and payloads if the scheme uses UET: packet delivery contexts have 16 bits, and the length of
// a request 14.
func (b *builder) checkUET() {
	if scheme, err := cc.Find(b.s.Scheme); err != nil || !scheme.Notification.UET() {
		return
	}
	b.accept(b.s.CheckFlows(), b.top.of("scheme"))
	const most = frame.MaxUETPayload
	for i, n := range b.s.NodesOf(topology.NIC) {
		b.require(n.NIC.Payload <= most, b.nodes[i].of("payload"),
			"%dB does not fit a UET request under the scheme %s, want at most %dB", n.NIC.Payload, b.s.Scheme, most)
	}
}

// checkEntropies checks that the numbers of entropies are powers of two.
func (b *builder) checkEntropies() {
	for i, n := range b.s.NodesOf(topology.NIC) {
		b.require(entropy.Validate(n.NIC.Entropies) == nil, b.nodes[i].of("entropies"),
			"%d is no power of two, want 2, 4, 8 and so on up to %d", n.NIC.Entropies, entropy.Most)
	}
}

func (b *builder) linkName(l topology.Link) string {
	return fmt.Sprintf("%s-%s", b.s.Nodes[l.A].Name, b.s.Nodes[l.B].Name)
}

// checkFlow checks one flow. The flows of a burst share the faults of the burst.
func (b *builder) checkFlow(f topology.Flow, src *source, ends [][]topology.End) {
	if f.From == f.To {
		b.fault(src.of("to"), "%s would send to itself", b.s.Nodes[f.To].Name)
	}
	if len(ends[f.From]) == 0 {
		return
	}
	if line := b.s.Links[ends[f.From][0].Link].Rate; line > 0 && f.Initial > line {
		b.fault(src.of("initial_rate"), "%s is above the %s of the link of %s", f.Initial, line, b.s.Nodes[f.From].Name)
	}
}

// checkStart checks that a flow, burst, workload, command or change starts within the
// run.
func (b *builder) checkStart(start unit.Time, at place) {
	if b.s.Duration > 0 && start >= b.s.Duration && !b.s.Live {
		b.fault(at, "%s is not before the end of the run, want less than the duration of %s", start, b.s.Duration)
	}
}

// checkCETH checks that the degrees are in order, and that a switch can write the form without a new
// ICRC.
func (b *builder) checkCETH() {
	p, src := &b.s.CC.CETH, b.schemes["ceth"]
	b.require(p.Light <= p.Medium, src.of("light"), "%v is above medium %v", p.Light, p.Medium)
	if p.Source == cc.CETHSwitch && p.Mode == cc.CETHInformation && p.Form != cc.CETHResv6 && p.Form != cc.CETHRatio6 {
		b.fault(src.of("form"), "%s is covered by the ICRC, which a switch does not recompute: want resv6 or ratio6 with source switch", p.Form)
	}
}

// checkSwitch checks that the thresholds of a switch are consistent and fit its
// links.
func (b *builder) checkSwitch(s *topology.SwitchSettings, src *source, links []topology.Link) {
	b.require(s.Kmin <= s.Kmax, src.of("kmin"), "%s is above kmax %s", s.Kmin, s.Kmax)
	b.require(s.XOFF == 0 || s.XON < s.XOFF, src.of("xon_offset"), "%s is not below xoff %s, so RESUME would never be sent", s.XON, s.XOFF)
	for class := range fabric.Priority(fabric.Priorities) {
		b.checkClass(s, class, src)
	}
	b.checkLimits(s, src, links)
	if len(links) > 0 && (len(s.Lossless) > 0 || s.OwnClasses()) {
		b.checkBuffer(s, src, links)
	}
}

// checkClass checks the settings of a class, apart from the links: that they apply to
// its kind, lossless or lossy, and that its thresholds are in order.
func (b *builder) checkClass(s *topology.SwitchSettings, class fabric.Priority, src *source) {
	p, own := s.Profile(class), s.Classes[class]
	at := func(key string) place { return src.of(join(classKey(class), key)) }
	const lossless = "class %d is lossless, want xoff or alpha, or a class that is not in lossless"
	const lossy = "class %d is lossy and never paused, want limit or alpha, or the class in lossless"
	b.require(!p.Lossless || own.Limit == nil, at("limit"), lossless, class)
	b.require(p.Lossless || own.XOFF == nil, at("xoff"), lossy, class)
	b.require(p.Lossless || own.XON == nil, at("xon_offset"), lossy, class)
	b.require(p.Lossless || own.Headroom == nil, at("headroom"), lossy, class)
	if own.Kmin != nil || own.Kmax != nil {
		key := "kmin"
		if own.Kmin == nil {
			key = "kmax"
		}
		b.require(p.Kmin <= p.Kmax, at(key), "class %d has kmin %s above kmax %s", class, p.Kmin, p.Kmax)
	}
	if p.Lossless && p.Threshold > 0 && (own.XOFF != nil || own.XON != nil) {
		key := "xon_offset"
		if own.XON == nil {
			key = "xoff"
		}
		b.require(p.XON < p.Threshold, at(key), "class %d has xon_offset %s, which is not below xoff %s, so RESUME would never be sent", class, p.XON, p.Threshold)
	}
}

// checkBuffer checks that the buffer holds all reserves and headrooms. It also checks
// that each threshold fits the remaining shared buffer and admits a frame.
func (b *builder) checkBuffer(s *topology.SwitchSettings, src *source, links []topology.Link) {
	var frame unit.Bytes
	for _, l := range links {
		frame = max(frame, l.MTU)
	}
	set := buffered(s, len(links))
	shared := s.Buffer - set
	if !b.require(shared >= frame, src.of("buffer"), "%s is too small: %s, and one shared frame, need %s", s.Buffer, setAside(s, len(links)), set+frame) {
		return
	}
	for class := range fabric.Priority(fabric.Priorities) {
		b.checkThreshold(s, class, src, shared, frame)
	}
}

// buffered returns the reserves and headrooms of all classes at a number of ports.
func buffered(s *topology.SwitchSettings, ports int) (set unit.Bytes) {
	for class := range fabric.Priority(fabric.Priorities) {
		p := s.Profile(class)
		set += unit.Bytes(ports) * p.SetAside()
	}
	return set
}

// setAside describes the reserves and headrooms of the classes.
func setAside(s *topology.SwitchSettings, ports int) string {
	if !s.OwnClasses() {
		return fmt.Sprintf("reserve %s and headroom %s for %d ports and %d lossless classes", s.Reserve, s.Headroom, ports, len(s.Lossless))
	}
	var list []string
	for class := range fabric.Priority(fabric.Priorities) {
		if p := s.Profile(class); p.SetAside() > 0 {
			list = append(list, fmt.Sprintf("reserve %s and headroom %s of class %d", p.Reserve, p.Headroom, class))
		}
	}
	return fmt.Sprintf("%s, for %d ports", strings.Join(list, ", "), ports)
}

// checkThreshold checks the threshold of one class. shared is the buffer beyond
// reserves and headrooms, frame the largest frame, both in bytes.
func (b *builder) checkThreshold(s *topology.SwitchSettings, class fabric.Priority, src *source, shared, frame unit.Bytes) {
	p, own := s.Profile(class), s.Classes[class]
	ownKey := func(given bool, key string) place {
		if given {
			key = join(classKey(class), key)
		}
		return src.of(key)
	}
	switch {
	case p.Lossless && p.Threshold > shared:
		b.fault(ownKey(own.XOFF != nil, "xoff"), "%s is never reached: reserves and headrooms leave %s of shared buffer", p.Threshold, shared)
	case own.Limit != nil && p.Reserve+p.Threshold < frame:
		b.fault(ownKey(true, "limit"), "%s and the reserve of %s hold less than one frame of %dB: class %d would drop every frame", p.Threshold, p.Reserve, frame, class)
	case own.Alpha != nil && p.AlphaShift > 0 && p.Reserve+shared>>p.AlphaShift < frame:
		b.fault(ownKey(true, "alpha"), "%s leaves a threshold of %s at an empty buffer, less than one frame of %dB: want a larger alpha",
			topology.AlphaText(*own.Alpha), shared>>p.AlphaShift, frame)
	case p.Lossless && own.Alpha == nil && p.Threshold == 0 && shared>>p.AlphaShift < frame:
		b.fault(src.of("alpha_shift"), "%d leaves a threshold of %s at an empty buffer, less than one frame of %dB: want a smaller shift",
			s.AlphaShift, shared>>s.AlphaShift, frame)
	}
}

// checkClassOf checks that NICs can send data in a class: the class needs a code
// point, and must differ from the control class of each NIC.
func (b *builder) checkClassOf(class fabric.Priority, at place, nics ...int) {
	_, ok := b.s.CodePoint(class)
	ok = b.require(ok, at, "no DSCP maps to class %d, want one in dscp, like {%d: %d}", class, topology.ClassSelector(class), class)
	for _, i := range nics {
		n := &b.s.Nodes[i]
		ok = ok && b.require(n.NIC.ControlClass != class, at, "%d is the class of ACK, NAK and CNP at %s (control_class), want another", class, n.Name)
	}
}

// checkCodePoints checks that every class in which NICs send has a code point.
func (b *builder) checkCodePoints() {
	b.checkClassOf(topology.DataClass, b.top.of("dscp"))
	for i, n := range b.s.NodesOf(topology.NIC) {
		b.checkClassOf(n.NIC.ControlClass, b.nodes[i].of("control_class"))
		for _, share := range n.NIC.Engine.Shaping {
			b.checkClassOf(share.Class, b.nodes[i].of("shaping"))
		}
	}
}

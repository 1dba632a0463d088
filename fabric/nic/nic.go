package nic

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// NIC is one network interface. It implements fabric.Machine with one port, 0. It
// transmits frames only in Tick.
type NIC struct {
	cfg          Config
	controlClass fabric.Priority

	senders   []sender
	receivers []receiver
	sending   qpIndex
	receiving qpIndex

	timers   agenda.Agenda // entries: see startTimer, ccTimer, resendTimer and npTimer
	pace     agenda.Agenda // by sender: earliest instant of its next frame
	ready    readyQueue
	control  controlQueue
	accounts uet.Accounts // the credit of this host
	grantor  uet.Grantor  // of credit for this host
	engine   *engine      // nil without connections
	intake   rx.Intake
	pauses   rx.Pauses
	cable    fabric.Cable
	choices  choices
	frozen   bool
	freeAt   unit.Time // when the frame in transmission ends
	cnpPort  notify.Port
	sink     notify.Sink
	back     frame.Packet // the current control packet, see packetBack
	now      unit.Time    // of the latest call
	// sampleAt is the end of the current sampling interval, Never if nothing was sent
	// in it and no tokens change.
	sampleAt  unit.Time
	sampledTx uint64    // bytes sent up to the last sample
	arrival   unit.Time // of the current packet
	cause     uint64    // trace of the current packet
	stats     Stats
}

var _ fabric.Machine = (*NIC)(nil)

// New returns a NIC. If cfg is not valid, the error lists all faults.
func New(cfg Config) (*NIC, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &NIC{
		cfg:          cfg,
		controlClass: cfg.DSCP[cfg.ControlDSCP],
		control:      newControlQueue(cfg.ControlQueue, cfg.ControlRate, cfg.DSCP[cfg.ControlDSCP]),
		pauses:       rx.NewPauses(cfg.Rate),
		sampleAt:     unit.Never,
		intake:       rx.NewIntake(cfg.Intake, rx.Port{Source: frame.HostMAC(cfg.Host), Rate: cfg.Rate}),
		cnpPort:      notify.NewPort(&cfg.CC),
		cable:        fabric.Cable{Rate: cfg.Rate, Delay: cfg.Delay, Overhead: cfg.Overhead, Flaws: cfg.Flaws},
	}
	if p := &n.cfg.CC.Credit; p.MTU == 0 {
		p.MTU = n.cfg.Payload + uetHeaders + n.cfg.Overhead
	}
	n.accounts = uet.NewAccounts(&n.cfg.CC.Credit, cfg.Rate, n.backlog)
	n.grantor = uet.NewGrantor(&n.cfg.CC.Credit, cfg.Rate)
	n.back = n.packetTo(cfg.Host, 0)
	n.back.Mirrored = cfg.MirrorPorts
	if err := n.addFlows(); err != nil {
		return nil, fmt.Errorf("nic %s: %w", cfg.Name, err)
	}
	s := len(n.senders)
	n.timers = agenda.New(n.npTimer(len(n.receivers)))
	n.pace = agenda.New(s)
	n.addCredits(0, 0)
	for i := range n.senders {
		if !n.senders[i].started {
			n.timers.Set(n.startTimer(i), n.senders[i].Start)
		}
	}
	return n, nil
}

// addFlows creates the queue pairs.
func (n *NIC) addFlows() error {
	var from, to []fabric.FlowID
	for _, cfg := range n.cfg.Flows {
		if cfg.To == n.cfg.Host {
			n.receivers = append(n.receivers, n.newReceiver(cfg))
			to = append(to, cfg.ID)
			continue
		}
		s, err := n.newSender(cfg)
		if err != nil {
			return err
		}
		n.senders = append(n.senders, s)
		from = append(from, cfg.ID)
	}
	n.sending, n.receiving = newQPIndex(from), newQPIndex(to)
	return n.connect()
}

// Entries of timers, in the order in which they fire at one instant.
func (n *NIC) startTimer(i int) int  { return i }
func (n *NIC) ccTimer(i int) int     { return len(n.senders) + i }
func (n *NIC) resendTimer(i int) int { return 2*len(n.senders) + i }
func (n *NIC) npTimer(i int) int     { return 3*len(n.senders) + i }

// Arrive handles a frame received from the link.
func (n *NIC) Arrive(now unit.Time, _ fabric.Port, f *frame.Frame, out *fabric.Out) {
	n.now = now
	if n.lost(now, f, out) {
		return
	}
	n.stats.RxPackets++
	class, prio := f.Class(), n.classOf(f)
	length := uint64(f.LenOf(class))
	n.stats.RxBytes += length
	if fabric.Follows(f.Trace) {
		out.Arrived(now, 0, prio, f)
	}
	routed := class == frame.ClassRoCE || class == frame.ClassUET
	if routed {
		n.stats.Priorities[prio].RxPackets++
		n.stats.Priorities[prio].RxBytes += length
	}
	switch {
	case class == frame.ClassPFC:
		n.receivePFC(now, f, out)
	case routed && prio != n.controlClass && !n.intake.Immediate():
		// Frames of the control class end in the NIC.
		n.intake.Put(now, prio, f, out)
	default:
		n.handle(now, class, f, out)
	}
	if n.engine != nil {
		n.advance(now, out)
	}
}

// handle processes a frame that has passed the receive buffer.
func (n *NIC) handle(now unit.Time, class frame.Class, f *frame.Frame, out *fabric.Out) {
	n.arrival, n.cause = f.Arrival, f.Trace
	switch class {
	case frame.ClassRoCE:
		n.packet(now, f, out)
	case frame.ClassUET:
		n.uet(now, f, out)
	case frame.ClassCNM:
		n.sampled(now, f, out)
	default:
		n.malformed(now, f, out)
	}
}

// packet passes a RoCEv2 packet to its queue pair. It discards packets for queue pairs
// that this NIC does not have, and packets from hosts other than the queue pair's peer.
func (n *NIC) packet(now unit.Time, f *frame.Frame, out *fabric.Out) {
	flow, toSender, known := frame.FlowOfQP(f.DestQP())
	if n.engine != nil && known {
		if k := n.engine.find(fabric.FlowID(flow)); k >= 0 {
			n.exchange(now, k, toSender, f, out)
			return
		}
	}
	qps := &n.receiving
	if toSender {
		qps = &n.sending
	}
	i, ok := qps.find(fabric.FlowID(flow))
	op := f.Opcode()
	switch {
	case !known || !ok || f.DstIP() != frame.HostIP(n.cfg.Host):
		n.malformed(now, f, out)
	case toSender && f.SrcIP() == frame.HostIP(n.senders[i].To) && op == frame.Acknowledge:
		n.acknowledge(now, i, f, out)
	case toSender && f.SrcIP() == frame.HostIP(n.senders[i].To) && op == frame.OpcodeCNP:
		n.notified(now, i, f, out)
	case !toSender && f.SrcIP() == frame.HostIP(n.receivers[i].From) && isWrite(op):
		n.data(now, i, f, out)
	default:
		n.malformed(now, f, out)
	}
}

// malformed counts and notes a discarded frame that is malformed or unexpected.
func (n *NIC) malformed(now unit.Time, f *frame.Frame, out *fabric.Out) {
	n.stats.Malformed++
	out.Note(fabric.Note{Event: fabric.NewMalformed(f.Len()), At: now, Flow: fabric.NoFlow, Trace: f.Trace})
}

// Tick handles due timers, then starts a transmission if possible, and takes a due
// sample last.
func (n *NIC) Tick(now unit.Time, out *fabric.Out) {
	n.now = now
	if n.frozen {
		return
	}
	if n.pauses.Next() <= now {
		n.pauses.Expire(now, out)
		n.updateShaper(now)
	}
	for n.intake.Due() <= now {
		f := n.intake.Take()
		n.handle(now, f.Class(), &f, out)
	}
	for {
		entry, at := n.timers.First()
		if at > now {
			break
		}
		n.timerDue(now, entry, out)
	}
	if n.grantor.Next() <= now || n.accounts.Next() <= now {
		n.creditTick(now, out)
	}
	if n.engine != nil {
		n.engineTick(now, out)
	}
	n.transmit(now, out)
	if n.engine != nil {
		n.advance(now, out)
	}
	if n.sampleAt <= now {
		n.noteSample(now, out)
	}
}

func (n *NIC) timerDue(now unit.Time, entry int, out *fabric.Out) {
	s := len(n.senders)
	switch {
	case entry < s:
		n.timers.Set(entry, unit.Never)
		n.start(now, entry, out)
	case entry < 2*s:
		n.reactDue(now, entry-s, out)
	case entry < 3*s:
		n.resendDue(now, entry-2*s, out)
	default:
		n.notifyDue(now, entry-3*s, out)
	}
}

// Next returns the next instant at which a timer fires, a pause expires, a transmission
// can start, or a sample is due. It returns false if there is none.
func (n *NIC) Next() (unit.Time, bool) {
	if n.frozen {
		return 0, false
	}
	_, at := n.timers.First()
	at = min(at, n.pauses.Next(), n.intake.Due(), n.grantor.Next(), n.accounts.Next(), n.sendDue(), n.sampleAt)
	if n.engine != nil {
		at = min(at, n.engine.timers.Next())
	}
	if at == unit.Never {
		return 0, false
	}
	return max(at, n.now), true
}

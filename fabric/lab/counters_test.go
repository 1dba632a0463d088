package lab_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// booked are counters by "node port class name", or "node name" for those of a node.
type booked map[string]uint64

func (b booked) add(n uint64, format string, args ...any) {
	if n > 0 {
		b[fmt.Sprintf(format, args...)] += n
	}
}

// clerk computes the counters of one node only from the frames at its ports and from
// its notes.
type clerk struct {
	booked
	name    string
	cnm     fabric.Priority // class of CNMs
	dscp    [64]fabric.Priority
	sw      bool
	arrived func() // books the frame that has come in, unless it was lost
	first   booked
}

func (k *clerk) port(port fabric.Port, class fabric.Priority, name string, n uint64) {
	k.add(n, "%s %d %d %s", k.name, port, class, name)
}

func (k *clerk) onset(at unit.Time, port fabric.Port, class fabric.Priority, name string) {
	if key := fmt.Sprintf("%s %d %d %s", k.name, port, class, name); k.first[key] == 0 {
		k.first[key] = uint64(at)
	}
}

// frame books an outgoing frame. It keeps an incoming one until its event is handled.
func (k *clerk) frame(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	if way == node.Out {
		k.passed(at, port, way, f)
		return
	}
	kept := *f
	k.arrived = func() { k.passed(at, port, way, &kept) }
}

func (k *clerk) passed(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	class := f.Class()
	if class == frame.ClassPFC {
		k.pfc(at, port, way, f)
		return
	}
	prio := k.dscp[f.DSCP()&63]
	if class == frame.ClassCNM {
		prio = k.cnm
	}
	if k.sw {
		name := [...]string{"SAI_INGRESS_PRIORITY_GROUP_STAT_", "SAI_QUEUE_STAT_"}[way]
		k.port(port, prio, name+"PACKETS", 1)
		k.port(port, prio, name+"BYTES", uint64(f.Len()))
		return
	}
	dir := [...]string{"rx", "tx"}[way]
	if class != frame.ClassCNM {
		k.add(1, "%s %s_prio%d_packets", k.name, dir, prio)
		k.add(uint64(f.Len()), "%s %s_prio%d_bytes", k.name, dir, prio)
	}
	switch op := f.Opcode(); {
	case class == frame.ClassUET && f.UETType() == frame.UETAck:
		k.add(1, "%s %s_acks", k.name, dir)
	case class == frame.ClassUET && f.UETType() == frame.UETNack:
		k.nak(way)
	case class != frame.ClassRoCE:
	case op == frame.Acknowledge && f.Syndrome() == frame.SyndromeACK:
		k.add(1, "%s %s_acks", k.name, dir)
	case op == frame.Acknowledge:
		k.nak(way)
	case op == frame.OpcodeCNP && way == node.In:
		k.add(1, "%s cnps", k.name)
	case op == frame.OpcodeCNP:
		k.enhanced(f)
	}
}

func (k *clerk) nak(way node.Way) {
	k.add(1, "%s %s", k.name, [...]string{"packet_seq_err", "tx_naks"}[way])
}

// enhanced books a CNP that carries the CETH. It has no note of its own: Indicated is
// noted when the indication changes. The others are booked by Notified.
func (k *clerk) enhanced(f *frame.Frame) {
	if _, ok := f.CETH(); ok {
		k.add(1, "%s np_cnp_sent", k.name)
	}
}

func (k *clerk) pfc(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	var p frame.PFC
	if p.Parse(f) != nil {
		return
	}
	for class := range fabric.Priority(fabric.Priorities) {
		if p.Enable>>class&1 == 0 {
			continue
		}
		pause := p.Quanta[class] > 0
		if pause {
			k.onset(at, port, class, [...]string{"first_pause_received", "first_pause_sent"}[way])
		}
		switch {
		case k.sw:
			k.port(port, class, fmt.Sprintf("SAI_PORT_STAT_PFC_%d_%s_PKTS", class, [...]string{"RX", "TX"}[way]), 1)
		case way == node.In:
			k.add(1, "%s rx_prio%d_pause", k.name, class)
		case pause:
			k.add(1, "%s tx_prio%d_pause", k.name, class)
		}
	}
}

// event books the notes of an event.
func (k *clerk) event(at unit.Time, notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		switch n.Kind {
		case fabric.Dropped:
			k.dropped(n)
		case fabric.Malformed:
			if k.add(1, "%s malformed_frames", k.name); k.sw {
				k.arrived = nil
			}
		case fabric.Marked:
			k.port(n.Port, n.Priority, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", 1)
			k.onset(at, n.Port, n.Priority, "first_ce")
		case fabric.Enqueued:
			key := fmt.Sprintf("%s %d %d SAI_QUEUE_STAT_WATERMARK_BYTES", k.name, n.Port, n.Priority)
			k.booked[key] = max(k.booked[key], uint64(n.Queue()))
		case fabric.Retransmitted:
			k.add(uint64(n.Packets()), "%s retransmitted_packets", k.name)
		case fabric.OutOfSequence:
			k.add(1, "%s out_of_sequence", k.name)
		case fabric.Trimmed:
			k.port(n.Port, n.Priority, "SAI_QUEUE_STAT_TRIM_PACKETS", 1)
			k.port(n.Port, n.Priority, "trimmed_bytes", uint64(n.Cut()))
		case fabric.TrimmedIn:
			k.add(1, "%s rx_trimmed_packets", k.name)
		case fabric.TimedOut:
			k.add(1, "%s local_ack_timeout_err", k.name)
		case fabric.Notified:
			k.add(1, "%s np_cnp_sent", k.name)
		case fabric.EventCounted:
			k.add(1, "%s rttx_event_packets", k.name)
		case fabric.Untracked:
			k.add(1, "%s rttx_untracked_packets", k.name)
		case fabric.Rewritten:
			k.add(1, "%s rttx_rewritten_packets", k.name)
		default:
		}
	}
	if k.arrived != nil {
		k.arrived()
		k.arrived = nil
	}
}

func (k *clerk) dropped(n *fabric.Note) {
	reason := n.Reason()
	switch {
	case reason == fabric.DropLinkLoss || reason == fabric.DropBadFCS:
		k.arrived = nil // the table of links has them
	case (reason == fabric.DropLinkDown || reason == fabric.DropFrozen) && k.arrived != nil:
		k.arrived = nil
		k.add(1, "%s lost_frames", k.name)
	case k.sw:
		k.port(n.Port, n.Priority, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", 1)
	case reason == fabric.DropHeadroom:
		k.add(1, "%s rx_prio%d_discards", k.name, n.Priority)
	case reason == fabric.DropControlQueue:
		k.add(1, "%s control_queue_drops", k.name)
	}
}

// kept names the counters that a clerk computes too; received CNPs are one sum.
func kept(name string) bool {
	return !slices.ContainsFunc([]string{
		"CURR_OCCUPANCY_BYTES", "_phy", "link_loss_frames", "_pause_duration", "_pause_transition", "np_ecn_marked_roce_packets", "duplicate_request",
		"rx_buffer_peak_bytes", "retransmitted_bytes", "commands_", "retries", "stale_responses", "response_drops", "unexpected_messages", "mcu_skips", "stall_no_",
		"entropies_", "entropy_freezes", "rttx_counted_packets", "rttx_slight_packets", "rttx_severe_packets",
	}, func(part string) bool { return strings.Contains(name, part) })
}

// flatten flattens the counters of a run.
func flatten(run *measure.Run) (counters, first booked) {
	counters, first = booked{}, booked{}
	for _, n := range run.Nodes {
		for name, value := range n.Counters {
			if name == "rp_cnp_handled" || name == "rp_cnp_ignored" {
				name = "cnps"
			}
			if kept(name) {
				counters.add(value, "%s %s", n.Name, name)
			}
		}
		for _, p := range n.Ports {
			for _, c := range p.Classes {
				for name, value := range c.Counters {
					if kept(name) {
						counters.add(value, "%s %d %d %s", n.Name, p.Port, c.Class, name)
					}
				}
				first.add(uint64(c.CE), "%s %d %d first_ce", n.Name, p.Port, c.Class)
				first.add(uint64(c.PauseSent), "%s %d %d first_pause_sent", n.Name, p.Port, c.Class)
				first.add(uint64(c.PauseReceived), "%s %d %d first_pause_received", n.Name, p.Port, c.Class)
			}
		}
	}
	return counters, first
}

// clerks runs a scenario with a clerk at each node and compares the run's counters with
// theirs. It returns the names of the counters that were not 0.
func clerks(t *testing.T, s *topology.Scenario) map[string]bool {
	t.Helper()
	l := newLab(t, s)
	l.PerFrame = true
	counters, first := booked{}, booked{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		k := &clerk{
			booked: counters, first: first, name: n.Name, dscp: s.AsBuilt().DSCPMapAt(i), sw: n.Kind == topology.Switch, cnm: n.Switch.QCN.CNMClass,
		}
		l.Look(i, &node.Tap{Frame: k.frame, Event: k.event})
	}
	l.Run(s.Duration)
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	gotCounters, gotFirst := flatten(run)
	if diff := cmp.Diff(counters, gotCounters); diff != "" {
		t.Errorf("%s: counters from frames and notes (-), from the machines (+):\n%s", s.Scheme, diff)
	}
	if diff := cmp.Diff(first, gotFirst); diff != "" {
		t.Errorf("%s: first instants from frames and notes (-), from the machines (+):\n%s", s.Scheme, diff)
	}
	seen := map[string]bool{}
	for _, list := range []booked{counters, first} {
		for key := range list {
			seen[key[strings.LastIndexByte(key, ' ')+1:]] = true
		}
	}
	return seen
}

// The counters of a run are the sums over the frames and notes of every node: under
// every scheme with links down, NICs frozen and settings changed, and with commands and
// a host that sends PAUSE.
func TestCountersMatchFramesAndEvents(t *testing.T) {
	seen := map[string]bool{}
	take := func(s *topology.Scenario) {
		maps.Copy(seen, clerks(t, s))
	}
	for i, scheme := range cc.Schemes {
		base := looped(t, scheme.Name)
		take(steering.New(base, uint64(i)).Extend(base, 0, base.Duration, 40))
	}
	for scheme, want := range map[string]string{"ceth": "np_cnp_sent", "timely-rttx": "rttx_rewritten_packets"} {
		found := clerks(t, contended(t, scheme))
		if maps.Copy(seen, found); !found[want] {
			t.Errorf("%s was 0 under %s", want, scheme)
		}
	}
	text, _ := scenariofile.Builtin("get-incast")
	s, err := scenariofile.ParseWith("get-incast", text, []topology.Setting{{Key: "duration", Value: "300us"}, {Key: "nic.pacing", Value: "off"}})
	if err != nil {
		t.Fatal(err)
	}
	take(s)
	for _, want := range []string{
		"first_ce", "first_pause_sent", "first_pause_received", "tx_acks", "rx_acks", "tx_naks", "packet_seq_err", "np_cnp_sent", "cnps",
		"retransmitted_packets", "out_of_sequence", "local_ack_timeout_err", "lost_frames", "rttx_event_packets", "rttx_rewritten_packets", "tx_prio3_pause", "rx_prio3_pause",
		"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "SAI_PORT_STAT_PFC_3_TX_PKTS",
		"SAI_QUEUE_STAT_TRIM_PACKETS", "trimmed_bytes", "rx_trimmed_packets",
	} {
		if !seen[want] {
			t.Errorf("%s was 0 in every run", want)
		}
	}
}

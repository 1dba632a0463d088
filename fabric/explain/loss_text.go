package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// totals returns the lost packets and control packets, the trimmed packets, and the packets that
// links with retry replayed.
func (r *LossReport) totals() (packets, control, cut, repaired int) {
	for i := range r.Losses {
		if r.Losses[i].Reason == trimmed {
			cut += r.Losses[i].Packets
		} else {
			packets += r.Losses[i].Packets
		}
		control += r.Losses[i].Control
		repaired += r.Losses[i].Repaired
	}
	return packets, control, cut, repaired
}

// verdict summarizes the report in one sentence.
func (r *LossReport) verdict() string {
	packets, control, cut, repaired := r.totals()
	if len(r.Losses) == 0 {
		text := fmt.Sprintf("no packet of %s was lost: %d sent", r.Flow, r.Sent)
		if r.Cost.Retransmitted > 0 {
			text += fmt.Sprintf(", %d of them again after %s", r.Cost.Retransmitted, unit.Counted(r.Cost.Timeouts, "timeout"))
		}
		return text
	}
	text := fmt.Sprintf("%s lost %d of %s and %s", r.Flow, packets, unit.Counted(r.Sent, "packet"), unit.Counted(control, "control packet"))
	if cut > 0 {
		text += fmt.Sprintf("; switches trimmed %d more", cut)
	}
	if repaired > 0 {
		text += fmt.Sprintf("; links replayed %d more", repaired)
	}
	return text + fmt.Sprintf(": %d retransmitted, delivery in order stopped %s, for %s", r.Cost.Retransmitted, unit.Counted(r.Cost.Stalls, "time"), brief(r.Cost.Stalled))
}

// Text writes the report as plain text.
func (r *LossReport) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Loss of %s, from %s to %s, of %s under %s\n\n%s\n", r.Flow, r.From, r.To, r.Scenario, r.Scheme, r.Verdict)
	if len(r.Losses) > 0 {
		r.places(&b)
	}
	r.costs(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// places lists where frames were lost, and why.
func (r *LossReport) places(b *strings.Builder) {
	b.WriteString("\n1. Where and why\n")
	for _, group := range r.groups() {
		v := &group[0]
		fmt.Fprintf(b, "  %s, %s: %s\n    packets %d, control packets %d", v.Node, peers(group), meaning(v.Reason), v.Packets, v.Control)
		if v.Repaired > 0 {
			fmt.Fprintf(b, ", replayed by the link %d", v.Repaired)
		}
		fmt.Fprintf(b, "; from %s to %s\n", brief(v.First), brief(v.Last))
		if f := v.Fill; f != nil {
			f.text(b)
		}
	}
	for _, v := range r.Replays {
		fmt.Fprintf(b, "  %s replayed %s, up to %s of all flows\n", v.Link, unit.Counted(v.Times, "time"), unit.Counted(v.Frames, "frame"))
	}
}

// text says how full a buffer was, and of what.
func (f *LossFill) text(b *strings.Builder) {
	if f.Queue > 0 {
		fmt.Fprintf(b, "    longest at %s: %s queued for %s\n", brief(f.At), f.Queue, f.peer)
	} else {
		fmt.Fprintf(b, "    fullest at %s: frames from %s occupied %s, shared part %s of %s, headroom %s; pool %s of %s\n",
			brief(f.At), f.peer, f.Occupancy, f.Shared, f.Threshold, f.Headroom, f.PoolUsed, f.Pool)
	}
	if len(f.Flows) > 0 {
		fmt.Fprintf(b, "    in the buffer: %s\n", strings.TrimPrefix(occupants(f.Flows, unit.Bytes.String), "; "))
	}
}

// groups returns the losses by node and reason. The first entry of a group is its sum.
func (r *LossReport) groups() (list [][]Loss) {
	for _, v := range r.Losses {
		i := slices.IndexFunc(list, func(g []Loss) bool { return g[0].Node == v.Node && g[0].Reason == v.Reason })
		if i < 0 {
			list = append(list, []Loss{v, v})
			continue
		}
		sum := &list[i][0]
		sum.Packets, sum.Control, sum.Repaired = sum.Packets+v.Packets, sum.Control+v.Control, sum.Repaired+v.Repaired
		sum.First, sum.Last = min(sum.First, v.First), max(sum.Last, v.Last)
		if v.Fill != nil && v.Fill.level() > sum.Fill.level() {
			sum.Fill = v.Fill
		}
		list[i] = append(list[i], v)
	}
	return list
}

// peers names the nodes behind the ports of a group.
func peers(group []Loss) string {
	var names []string
	for i := range group[1:] {
		if i == maxNamed {
			return fmt.Sprintf("ports to %s and %d more", strings.Join(names, ", "), len(group)-1-maxNamed)
		}
		names = append(names, group[i+1].Peer)
	}
	if len(names) == 1 {
		return "port to " + names[0]
	}
	return "ports to " + strings.Join(names, ", ")
}

// meaning returns what a reason of a loss means.
func meaning(reason string) string {
	if text, ok := map[string]string{
		"headroom":       "a lossless class, headroom exhausted",
		"buffer":         "a lossy class, no room below its threshold",
		"no-route":       "no port leads to the destination",
		"control-queue":  "the control queue of the NIC was full",
		"response-queue": "the NIC had too many responses queued",
		"link-down":      "the link was down",
		"frozen":         "the NIC was frozen",
		"link-loss":      "the link lost the frame",
		"bad-fcs":        "the link damaged the frame",
		"queue":          "a lossy class, the egress queue was at its limit",
		"trimmed":        "no room for the trimmed packet",
		trimmed:          "payload trimmed, headers forwarded",
		"retry-limit":    "the link replayed the frame too often and gave it up",
	}[reason]; ok {
		return text
	}
	return reason
}

// spent formats a number of events and the time that they took in total, which text describes.
func spent(n int, text string, total unit.Time) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%d, "+text, n, brief(total))
}

// costs says what the losses have cost.
func (r *LossReport) costs(b *strings.Builder) {
	c := &r.Cost
	heading := "\n2. What it cost\n"
	if len(r.Losses) == 0 {
		heading = "\nOrder and completion\n"
	}
	b.WriteString(heading)
	fmt.Fprintf(b, "  retransmitted  %s, %s, of %s sent\n", unit.Counted(c.Retransmitted, "packet"), c.RetransmittedBytes, r.Bytes)
	fmt.Fprintf(b, "  out of order   %s, up to %d ahead of a missing one; %s\n", unit.Counted(r.Order.Packets, "packet"), r.Order.Depth, unit.Counted(c.NAKs, "NAK"))
	fmt.Fprintf(b, "  timeouts       %s\n", spent(c.Timeouts, "after %s without a transmission or an ACK, in total", c.Waited))
	fmt.Fprintf(b, "  stalls         %s\n", spent(c.Stalls, "delivery in order stopped for %s in total", c.Stalled))
	if c.Completed == 0 {
		b.WriteString("  completion     none by the end of the range\n")
		return
	}
	fmt.Fprintf(b, "  completion     %d of %d, after at most %s", c.Completed, r.Flows, brief(c.Duration))
	if c.Undisturbed > 0 {
		fmt.Fprintf(b, "; %s without link errors", brief(c.Undisturbed))
	}
	b.WriteString("\n")
}

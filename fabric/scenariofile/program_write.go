package scenariofile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// WritePrograms writes the steps of all NICs, those of collectives included, as the key programs of a
// scenario. A scenario with this key instead of its programs and collectives has the same steps and, as tags of
// collectives are on the wire, other digests if it has collectives. The error lists the collectives
// whose messages programs cannot have, and the flows that are steps.
func WritePrograms(w io.Writer, s *topology.Scenario) error {
	p := stepWriter{s: s, tag: firstTag(s)}
	if err := p.check(); err != nil {
		return err
	}
	if len(s.Steps) == 0 {
		return fmt.Errorf("%s has no programs and no collectives", s.Name)
	}
	p.w.WriteString("programs:\n")
	for i := range s.Steps {
		p.host(&s.Steps[i])
		if _, err := io.WriteString(w, p.w.String()); err != nil {
			return err
		}
		p.w.Reset()
	}
	return nil
}

// stepWriter writes the steps of hosts.
type stepWriter struct {
	s   *topology.Scenario
	w   strings.Builder // text of a host
	tag uint32          // of the first message of collectives
}

// firstTag returns the lowest tag above those of the programs.
func firstTag(s *topology.Scenario) (tag uint32) {
	for h, i := range s.Sends() {
		if t := h.At(i).Tag; t < topology.CollectiveTag {
			tag = max(tag, t+1)
		}
	}
	return tag
}

// check returns what programs cannot express.
func (p *stepWriter) check() error {
	var faults []error
	messages := int64(0)
	for i := range p.s.Collectives {
		c := &p.s.Collectives[i]
		if c.Class != topology.DataClass {
			faults = append(faults, fmt.Errorf("collective %s: messages of class %d, want class %d in programs", c.Name, c.Class, topology.DataClass))
		}
		messages += int64(c.Messages())
	}
	for i := range p.s.Flows {
		if f := &p.s.Flows[i]; f.Step {
			faults = append(faults, fmt.Errorf("flow %s: waits or is waited for, want a message of a program", f.Name))
		}
	}
	if int64(p.tag)+messages > maxTag+1 {
		faults = append(faults, fmt.Errorf("collectives: %d messages need tags above %d of the programs, want at most %d", messages, int64(p.tag)-1, maxTag))
	}
	return errors.Join(faults...)
}

// host writes the steps of a host.
func (p *stepWriter) host(h *topology.HostSteps) {
	fmt.Fprintf(&p.w, "  %s: |\n", p.s.Nodes[h.Node].Name)
	labels := labelsOf(h)
	for i := range h.Len() {
		p.w.WriteString("    ")
		if labels[i] != "" {
			p.w.WriteString(labels[i] + ": ")
		}
		p.w.WriteString(p.action(h.At(i)))
		var after, started []string
		for _, c := range h.Conditions(i) {
			if c.Begun() {
				started = append(started, labels[c.Step()])
			} else {
				after = append(after, labels[c.Step()])
			}
		}
		if len(after) > 0 {
			p.w.WriteString(" after " + strings.Join(after, ", "))
		}
		if len(started) > 0 {
			p.w.WriteString(" once_started " + strings.Join(started, ", "))
		}
		p.w.WriteByte('\n')
	}
}

// labelsOf returns the labels of a host's steps: those of its program, and others for the steps that steps wait
// for.
func labelsOf(h *topology.HostSteps) []string {
	labels, taken := make([]string, h.Len()), map[string]bool{}
	for i, label := range h.Labels {
		labels[i], taken[label] = label, true
	}
	for i := range h.Len() {
		for _, c := range h.Conditions(i) {
			step := c.Step()
			for n := 0; labels[step] == ""; n++ {
				if label := fmt.Sprintf("s%d%s", step, strings.Repeat("_", n)); !taken[label] {
					labels[step], taken[label] = label, true
				}
			}
		}
	}
	return labels
}

// action returns what a step does.
func (p *stepWriter) action(s *program.Step) string {
	switch s.Kind {
	case program.Send:
		return fmt.Sprintf("send %s to %s%s", unit.Bytes(s.Amount), p.s.Nodes[s.Peer].Name, p.tagText(s))
	case program.Receive:
		from := "any"
		if s.Peer >= 0 {
			from = p.s.Nodes[s.Peer].Name
		}
		return fmt.Sprintf("receive from %s%s", from, p.tagText(s))
	default:
		text := fmt.Sprintf("calc %s", unit.Time(s.Amount))
		if s.Processor > 0 {
			text += fmt.Sprintf(" on %d", s.Processor)
		}
		return text
	}
}

// tagText returns the tag of a message. Tags of collectives become the next ones after those of the programs.
func (p *stepWriter) tagText(s *program.Step) string {
	tag := s.Tag
	if tag >= topology.CollectiveTag {
		tag = tag - topology.CollectiveTag + p.tag
	}
	switch {
	case s.AnyTag:
		return " tag any"
	case tag == 0:
		return ""
	}
	return fmt.Sprintf(" tag %d", tag)
}

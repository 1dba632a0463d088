package scenariofile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
)

// rewritten returns the scenario with its programs and collectives replaced by what WritePrograms writes.
func rewritten(t *testing.T, text string) (s, again *topology.Scenario, programs string) {
	t.Helper()
	s = parsed(t, text)
	var b strings.Builder
	if err := WritePrograms(&b, s); err != nil {
		t.Fatal(err)
	}
	rack, _, _ := strings.Cut(text, "programs:\n")
	return s, parsed(t, rack+b.String()), b.String()
}

// stepsIn returns the steps of a scenario and what they wait for, with the tags of collectives counted from one.
func stepsIn(s *topology.Scenario, tag uint32) (list []any) {
	for i := range s.Steps {
		h := &s.Steps[i]
		for k := range h.Len() {
			step := *h.At(k)
			if step.Tag >= topology.CollectiveTag {
				step.Tag = step.Tag - topology.CollectiveTag + tag
			}
			list = append(list, s.Nodes[h.Node].Name, k, step, slices.Sorted(slices.Values(h.Conditions(k))))
		}
	}
	return list
}

// COLL-12: The steps that programs and collectives make can be printed, and read back.
func TestWrittenProgramsAreReadBack(t *testing.T) {
	for _, tt := range []struct {
		text string
		tag  uint32 // above those of the programs
	}{
		{programmed, 10},
		{strings.Replace(collected, ", class: 4", "", 1), 1},
		{strings.Replace(strings.Replace(collected, "send 1KB to h1", "send 1KB to h1 tag 7", 1), ", class: 4", ", after: []", 1), 8},
	} {
		text := tt.text
		if tt.tag == 8 {
			text = strings.Replace(strings.Replace(text, "after: [sum], after: []", "after: [sum]", 1), "receive from h4", "receive from h4 tag 7", 1)
		}
		s, again, programs := rewritten(t, text)
		if d := cmp.Diff(stepsIn(s, tt.tag), stepsIn(again, 0)); d != "" {
			t.Errorf("%s\n%s", programs, d)
		}
	}
}

// Steps keep their labels. Others get one if a step waits for them, which no label of the program has.
func TestWrittenProgramsHaveLabels(t *testing.T) {
	text := programmed
	text = strings.Replace(text, "    receive from any tag any\n", "    s1: receive from any tag any\n", 1)
	s := parsed(t, text)
	h := s.StepsOf(1)
	h.Add(program.Step{Kind: program.Calc, Peer: program.AnyHost}, program.Done(0), program.Begun(1), program.Begun(2))
	h.Add(program.Step{Kind: program.Calc, Peer: program.AnyHost})
	h.Add(program.Step{Kind: program.Calc, Peer: program.AnyHost}, program.Done(3))
	h.Labels = append(h.Labels, "s2", "", "")
	h.Labels[1] = ""
	if d := cmp.Diff([]string{"s1", "s1_", "s2", "s3", ""}, labelsOf(h)); d != "" {
		t.Error(d)
	}
	_, _, programs := rewritten(t, programmed)
	want := `programs:
  h0: |
    s: send 1MB to h1 tag 3
    r: receive from h1
    calc 5us on 2 after s, r once_started later
    later: calc 0s
  h1: |
    receive from any tag any
    a: send 1KB to h0
  h2: |
    send 4KB to h0 tag 9
  h3: |
    send 4KB to h0 tag 9
`
	if strings.ReplaceAll(programs, "calc 0ps", "calc 0s") != want {
		t.Error(cmp.Diff(want, programs))
	}
}

// What programs cannot express is refused, all of it at once.
func TestWriteProgramsRefuses(t *testing.T) {
	tagged := func(tag string) string {
		return strings.Replace(strings.Replace(collected, "send 1KB to h1", "send 1KB to h1 tag "+tag, 1), "receive from h4", "receive from h4 tag "+tag, 1)
	}
	text := tagged("2147483600")
	rewritten(t, strings.Replace(tagged("2147483537"), ", class: 4", "", 1)) // with the highest tag
	for text, want := range map[string]string{
		text: "collective swap: messages of class 4, want class 3 in programs\ncollectives: 110 messages need tags above 2147483600 of the programs, want at most 2147483647",
		strings.Replace(collected, "collectives:", "flows:\n  - {name: late, from: h0, to: h3, size: 1KB, after: [sum]}\ncollectives:", 1): "collective swap: messages of class 4, want class 3 in programs\nflow late: waits or is waited for, want a message of a program",
		sample: "sample has no programs and no collectives",
	} {
		var b strings.Builder
		if err := WritePrograms(&b, parsed(t, text)); err == nil || err.Error() != want || b.Len() > 0 {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

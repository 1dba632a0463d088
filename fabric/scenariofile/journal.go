package scenariofile

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Journal writes the journal of a live run: the scenario file of a batch run with the same digest. It keeps
// the text of the changes so far, and of the rest, so that writing does not encode all of them again. The
// zero value is ready to use.
type Journal struct {
	entries []byte // of changes, as in a file
	begins  []int  // where each change begins in entries
	rest    rest
}

// rest is the file of a journal without its changes, which are between before and after. It depends on no
// change.
type rest struct {
	end, bin      unit.Time
	before, after []byte
}

// Text returns the journal of s, which has reached end, is the scenario of the previous call, and has its
// changes and possibly more. bin is the minimum width of its recorded series. Before the first step, at 0, the file
// lasts for the shortest duration, and its digest is another one.
func (j *Journal) Text(s *topology.Scenario, end, bin unit.Time) ([]byte, error) {
	for n := len(j.begins); n < len(s.Changes); n++ {
		if err := j.add(&s.Changes[n]); err != nil {
			return nil, fmt.Errorf("changes[%d]: %w", n, err)
		}
	}
	end = max(end, shortest)
	bin = max(min(bin, s.Bin), (end+maxBins-1)/maxBins)
	if r := &j.rest; len(s.Changes) > 0 && r.end == end && r.bin == bin {
		return slices.Concat(r.before, j.entries, r.after), nil
	}
	text, err := unchanged(s, end, bin)
	if err != nil || len(s.Changes) == 0 {
		return text, err
	}
	first, after := entriesOf(text)
	j.rest = rest{end, bin, text[:first], text[after:]}
	return slices.Concat(j.rest.before, j.entries, j.rest.after), nil
}

// unchanged returns the file of s up to end with at most its last change.
func unchanged(s *topology.Scenario, end, bin unit.Time) ([]byte, error) {
	batch := *s.Fold()
	batch.Duration, batch.Bin = end, bin
	batch.Bursts = slices.DeleteFunc(slices.Clone(batch.Bursts), func(b topology.Burst) bool { return b.Change })
	batch.Commands = batch.Commands[:batch.InitialCommands()]
	batch.Changes = batch.Changes[max(len(batch.Changes)-1, 0):]
	return encode(&batch)
}

// Undo removes the changes of previous calls of Text, up to a number that stays.
func (j *Journal) Undo(changes int) {
	if len(j.begins) > changes {
		j.entries, j.begins = j.entries[:j.begins[changes]], j.begins[:changes]
	}
}

// add appends the text of a change.
func (j *Journal) add(c *topology.Change) error {
	one := sections{}
	changes.write(&topology.Scenario{Changes: []topology.Change{*c}}, one)
	root := block()
	root.Content = append(root.Content, text(changes.key), one[changes.key])
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return err
	}
	first, end := entriesOf(b.Bytes())
	j.begins = append(j.begins, len(j.entries))
	j.entries = append(j.entries, b.Bytes()[first:end]...)
	return nil
}

// entriesOf returns where the entries of the section changes of a file begin and end.
func entriesOf(file []byte) (first, end int) {
	title := []byte(changes.key + ":\n")
	if !bytes.HasPrefix(file, title) {
		first = bytes.Index(file, append([]byte("\n"), title...)) + 1
	}
	first += len(title)
	for end = first; end < len(file) && (file[end] == ' ' || file[end] == '-'); {
		end += bytes.IndexByte(file[end:], '\n') + 1
	}
	return first, end
}

// Package outcome is the form in which the outcome of a run in the memory of another
// process comes back: the JSON of results.json, with the series if they are wanted, in
// parts that fit into messages. It does not know who ran the scenario.
package outcome

import (
	"encoding/json"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
)

// part is the length of a part in bytes. Outcomes of large racks are longer than a message
// may be.
const part = 1 << 20

// text is the JSON form.
type text struct {
	Run    *measure.Run       `json:"run"`
	Series *measure.RunSeries `json:"series,omitempty"`
}

// Write returns the parts of an outcome.
func Write(run *measure.Run) ([][]byte, error) {
	all, err := json.Marshal(text{run, run.Series})
	return slices.Collect(slices.Chunk(all, part)), err
}

// Read returns the outcome whose parts, in their order, are all.
func Read(all []byte) (*measure.Run, error) {
	var t text
	if err := json.Unmarshal(all, &t); err != nil {
		return nil, err
	}
	if t.Run != nil {
		t.Run.Series = t.Series
	}
	return t.Run, nil
}

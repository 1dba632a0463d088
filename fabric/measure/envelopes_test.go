package measure

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// distinct sets each count to a different value, starting at first.
func distinct(first int64) (f EnvelopeFaults) {
	v := reflect.ValueOf(&f).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(first + int64(i))
	}
	return f
}

// results.json contains each count of a node, both for the node and summed over the
// run.
func TestEnvelopeFaultsAreSummedAndShown(t *testing.T) {
	s := rack()
	nodes := make([]*NodeResult, len(s.Nodes))
	for i, n := range s.Nodes {
		nodes[i] = &NodeResult{Node: n.Name, Malformed: 1000, Ports: make([]PortResult, len(s.PortMap()[i]))}
	}
	nodes[1].EnvelopeFaults, nodes[3].EnvelopeFaults = distinct(1), distinct(100)
	run, err := Merge(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		EnvelopeFaults
		Malformed int64 `json:"malformed"`
		Nodes     []struct{ EnvelopeFaults }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := distinct(1)
	addFaults(&want, distinct(100))
	sum := reflect.ValueOf(got.EnvelopeFaults)
	for i := range sum.NumField() {
		if n := int64(101 + 2*i); sum.Field(i).Int() != n {
			t.Errorf("%s: %d, want %d", sum.Type().Field(i).Name, sum.Field(i).Int(), n)
		}
	}
	if got.EnvelopeFaults != want || got.Malformed != 4000 {
		t.Errorf("%+v and %d malformed frames, want %+v and 4000", got.EnvelopeFaults, got.Malformed, want)
	}
	if got.Nodes[1].EnvelopeFaults != distinct(1) || got.Nodes[2].EnvelopeFaults != (EnvelopeFaults{}) {
		t.Errorf("nodes %+v", got.Nodes)
	}
}

func TestEnvelopeFaultsString(t *testing.T) {
	if text := FaultsInWords(EnvelopeFaults{}); text != "" {
		t.Errorf("no fault is %q", text)
	}
	if text := FaultsInWords(EnvelopeFaults{Malformed: 2, Repeated: 1}); text != "2 malformed, 1 repeated" {
		t.Errorf("got %q", text)
	}
	all := distinct(1)
	if parts := strings.Split(FaultsInWords(all), ", "); len(parts) != reflect.TypeOf(all).NumField() {
		t.Errorf("%d parts: %q", len(parts), parts)
	}
}

package changes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Read returns every kind of change as Write wrote it. A burst keeps its class.
func TestChangesRoundTrip(t *testing.T) {
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.Parse("pcn-16to2", text)
	if err != nil {
		t.Fatal(err)
	}
	source, classes := steering.New(s, 1), map[int]bool{}
	for range 500 {
		want := source.Change(5)
		got, err := Read(Write(&want).GetChange(), want.At)
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if want.Verb == topology.ChangeBurst {
			classes[int(want.Burst.Class)] = true
		}
	}
	if len(classes) < 2 {
		t.Errorf("bursts of classes %v", classes)
	}
}

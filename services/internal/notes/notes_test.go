package notes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// kept passes all notes through an Excerpt and its messages.
func kept(t *testing.T, e *Excerpt, all []fabric.Note) (list []fabric.Note, messages int) {
	t.Helper()
	for i := range all {
		e.Observe(all[i : i+1])
	}
	parts, err := e.Messages("h0")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range parts {
		part, err := Read(m)
		if err != nil || m.GetNode() != "h0" {
			t.Fatal(m.GetNode(), err)
		}
		list = append(list, part...)
	}
	return list, len(parts)
}

func TestExcerptKeepsRequestedKindsInOrder(t *testing.T) {
	e, err := New([]string{"rate-changed", "paused"})
	if err != nil {
		t.Fatal(err)
	}
	all := []fabric.Note{
		{Event: fabric.NewRateChanged(1<<40, -7), At: 5, Flow: 0, Port: 3, Priority: 6},
		{Event: fabric.Event{Kind: fabric.Resumed}, At: 6},
		{Event: fabric.Event{Kind: fabric.Paused}, At: 6, Flow: fabric.NoFlow},
		{Event: fabric.Event{Kind: fabric.RateChanged}, At: 9, Flow: 12},
	}
	got, _ := kept(t, e, all)
	if diff := cmp.Diff([]fabric.Note{all[0], all[2], all[3]}, got, cmpopts.EquateComparable(fabric.Event{})); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesAreSmall(t *testing.T) {
	e, _ := New([]string{"dropped"})
	all := make([]fabric.Note, 2*chunk+1)
	for i := range all {
		all[i] = fabric.Note{Event: fabric.NewDropped(unit.Bytes(i), 0)}
	}
	got, messages := kept(t, e, all)
	if diff := cmp.Diff(all, got, cmpopts.EquateComparable(fabric.Event{})); diff != "" || messages != 3 {
		t.Errorf("%d messages\n%s", messages, diff)
	}
}

// One note more than the limit is an error, not a silent gap.
func TestExcerptReportsOverflow(t *testing.T) {
	e, _ := New([]string{"dropped"})
	e.limit = 2
	dropped := fabric.Note{Event: fabric.Event{Kind: fabric.Dropped}}
	e.Observe([]fabric.Note{dropped, dropped, {Event: fabric.Event{Kind: fabric.Paused}}})
	if list, err := e.Messages("h0"); err != nil || len(list[0].GetNotes()) != 2 {
		t.Fatal(list, err)
	}
	e.Observe([]fabric.Note{{Event: fabric.Event{Kind: fabric.Dropped}}})
	if _, err := e.Messages("h0"); err == nil || !strings.Contains(err.Error(), "node h0 recorded more than 2 notes") {
		t.Error(err)
	}
}

func TestUnknownKinds(t *testing.T) {
	for _, name := range []string{"", "rate_changed", "kind(3)"} {
		if _, err := New([]string{"paused", name}); err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := Read(&rackfabv1.NodeNotes{Node: "h0", Notes: []*rackfabv1.Note{{Kind: name}}}); err == nil {
			t.Errorf("read %q", name)
		}
	}
}

// A run that requests no notes has a nil Excerpt.
func TestNoKindsRequested(t *testing.T) {
	e, err := New(nil)
	if e != nil || err != nil || e.PerFrame() {
		t.Fatal(e, err)
	}
	e.Observe([]fabric.Note{{Event: fabric.Event{Kind: fabric.Dropped}}})
	if list, err := e.Messages("h0"); list != nil || err != nil {
		t.Error(list, err)
	}
}

func TestPerFrame(t *testing.T) {
	for name, want := range map[string]bool{"marked": true, "passed-over": true, "delivered": false, "rate-changed": false} {
		if e, _ := New([]string{name}); e.PerFrame() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

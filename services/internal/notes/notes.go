// Package notes carries notes of selected kinds from the nodes of a run to the client
// that started it. It does not know what a note means.
package notes

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Limit is the number of notes that a node keeps for one run: 72 MB.
const Limit = 1 << 20

// chunk is the number of notes in one message, about 150 KB.
const chunk = 4096

// Excerpt keeps the notes of some kinds, in the order in which they are observed. A
// nil Excerpt keeps none.
type Excerpt struct {
	kinds []fabric.Kind
	kept  []fabric.Note
	limit int
	over  bool
}

// New returns an Excerpt of the kinds with these names, nil if there are no names. It
// returns an error that names the first unknown kind.
func New(names []string) (*Excerpt, error) {
	if len(names) == 0 {
		return nil, nil
	}
	e := &Excerpt{limit: Limit}
	for _, name := range names {
		kind, ok := fabric.ParseKind(name)
		if !ok {
			return nil, fmt.Errorf("unknown kind of note %q, want names such as %q", name, fabric.RateChanged)
		}
		e.kinds = append(e.kinds, kind)
	}
	return e, nil
}

// PerFrame reports whether a selected kind occurs for every frame. If so, the run
// must not omit the notes of every frame.
func (e *Excerpt) PerFrame() bool {
	return e != nil && slices.ContainsFunc(e.kinds, fabric.Kind.PerFrame)
}

// Observe keeps the notes of the selected kinds.
func (e *Excerpt) Observe(all []fabric.Note) {
	if e == nil {
		return
	}
	for i := range all {
		if !slices.Contains(e.kinds, all[i].Kind) {
			continue
		}
		if len(e.kept) == e.limit {
			e.over = true
			return
		}
		e.kept = append(e.kept, all[i])
	}
}

// Messages returns the kept notes as messages of the node, in order. It returns an
// error if there were more notes than the limit.
func (e *Excerpt) Messages(node string) (list []*rackfabv1.NodeNotes, err error) {
	if e == nil {
		return nil, nil
	}
	if e.over {
		return nil, fmt.Errorf("node %s recorded more than %d notes of the requested kinds: request fewer kinds or a shorter run", node, e.limit)
	}
	for part := range slices.Chunk(e.kept, chunk) {
		m := &rackfabv1.NodeNotes{Node: node}
		for i := range part {
			m.Notes = append(m.Notes, write(&part[i]))
		}
		list = append(list, m)
	}
	return list, nil
}

func write(n *fabric.Note) *rackfabv1.Note {
	a, b := n.Encoded()
	m := &rackfabv1.Note{
		Kind: n.Kind.String(), AtPs: int64(n.At), A: a, B: b, Port: int32(n.Port), Priority: uint32(n.Priority),
	}
	if n.Flow != fabric.NoFlow {
		flow := uint32(n.Flow)
		m.Flow = &flow
	}
	return m
}

// Read returns the notes of a message. It returns an error that names the first
// unknown kind.
func Read(m *rackfabv1.NodeNotes) ([]fabric.Note, error) {
	list := make([]fabric.Note, len(m.GetNotes()))
	for i, n := range m.GetNotes() {
		kind, ok := fabric.ParseKind(n.GetKind())
		if !ok {
			return nil, fmt.Errorf("node %s: unknown kind of note %q: the rack runs another version", m.GetNode(), n.GetKind())
		}
		flow := fabric.NoFlow
		if n.Flow != nil {
			flow = fabric.FlowID(n.GetFlow())
		}
		list[i] = fabric.Note{
			Event: fabric.EventOf(kind, n.GetA(), n.GetB()), At: unit.Time(n.GetAtPs()), Flow: flow,
			Port: fabric.Port(n.GetPort()), Priority: fabric.Priority(n.GetPriority()),
		}
	}
	return list, nil
}
